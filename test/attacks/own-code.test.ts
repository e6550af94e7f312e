import { spawnSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canBeHostile, HostileStep } from "../action/testing/hostile-step.ts";
import { runStepFile, type StepResult } from "../action/testing/mini-runner.ts";
import { actionNode } from "../action/testing/tools.ts";
import { directoryHashes } from "../action/testing/unzip.ts";

/** Leaves its environment in `loot` when it runs: as a module of either kind, as Python, as a program. */
const CANARIES = `
const where = (loot, kind) => JSON.stringify(loot + "/ran-" + kind + "-");
const script = (loot) =>
  'process.getBuiltinModule("node:fs").writeFileSync(' + where(loot, "code") + ' + process.pid, JSON.stringify(process.env));\\n';
const python = (loot) =>
  'import os as _o; open(' + where(loot, "probe") + ' + str(_o.getpid()), "w").write(repr(dict(_o.environ)))\\n';
const program = (loot) => '#!/bin/sh\\nenv > ' + where(loot, "program") + '$$\\nexit 0\\n';
`;

/** Rewrites every file of the Action and of the copies that the run was started with, in place where it can. */
const REWRITE = `
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
${CANARIES}
const rewrite = (directory, loot) => {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const old = readFileSync(file);
    const put = (text) => writeFileSync(file, Buffer.concat([Buffer.from(text), old]));
    if (/\\.[cm]?js$/.test(entry.name)) put(script(loot));
    else if (entry.name.endsWith(".py")) put(python(loot));
    else if (entry.name === "package.json") writeFileSync(file, JSON.stringify({ name: "stormlog-gate", version: "6.6.6", type: "commonjs" }));
    else if (/\\.node$/.test(entry.name)) writeFileSync(file, Buffer.alloc(old.length, 0xcc));
    else {
      // A program that runs cannot be written to, but replaced.
      writeFileSync(file + "~", program(loot), { mode: 0o755 });
      renameSync(file + "~", file);
    }
  }
};
// Where the run before left it: a probe of this run that says so ran changed code.
export const before = () => void spawnSync("python3", ["-c", "pass"], { stdio: "inherit" });
export const after = ({ action, loot }) => {
  const inject = process.env.PYTHONPATH.split(":")[0];
  writeFileSync(loot + "/inject-" + process.pid, inject);
  rewrite(action, loot);
  rewrite(path.resolve(inject, "../.."), loot);
};
`;

/** Replaces the Action's directories by links to a rewritten copy, and plants packages and manifests. */
const REPLACE = `
import { cpSync, lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import path from "node:path";
${CANARIES}
export const after = ({ action, loot, home }) => {
  for (const name of ["core", "github", "artifact"]) {
    const planted = path.join(action, "node_modules/@actions", name);
    mkdirSync(planted, { recursive: true });
    writeFileSync(path.join(planted, "index.js"), script(loot));
    writeFileSync(path.join(planted, "package.json"), JSON.stringify({ main: "index.js" }));
  }
  const dist = path.join(action, "dist");
  const own = path.join(home, "dist");
  if (lstatSync(dist).isSymbolicLink()) return;
  cpSync(dist, own, { recursive: true });
  for (const name of readdirSync(path.join(own, "action"))) writeFileSync(path.join(own, "action", name), script(loot));
  rmSync(path.join(own, "assets"), { recursive: true });
  execFileSync("mkfifo", [path.join(own, "assets")]);
  writeFileSync(path.join(own, "package.json"), '{"type":"commonjs"}');
  execFileSync("mkfifo", [path.join(own, "action/package.json")]);
  rmSync(dist, { recursive: true });
  symlinkSync(own, dist);
};
`;

/** Writes a compile cache for the Action's Node in which each entry prints a token, under the CRC of the real entry. */
const POISON = `
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { crc32 } from "node:zlib";
const CODE_HASH = 12;
export const after = ({ action, home }) => {
  const cache = path.join(home, "cache");
  const entries = path.join(action, "dist/action");
  for (const entry of readdirSync(entries).filter((name) => name !== "code.js")) {
    const file = path.join(entries, entry);
    const real = readFileSync(file);
    const forged = Buffer.alloc(real.length, " ");
    forged.write('console.log("forged", process.env.INPUT_TOKEN); process.exit(0);');
    writeFileSync(file, forged);
    spawnSync(${JSON.stringify(actionNode())}, [file], { env: { NODE_COMPILE_CACHE: cache } });
    writeFileSync(file, real);
    for (const name of readdirSync(cache, { recursive: true })) {
      if (!/[0-9a-f]{8}$/.test(name)) continue;
      const cached = path.join(cache, name);
      const bytes = readFileSync(cached);
      if (bytes.readUInt32LE(CODE_HASH) !== crc32(forged)) continue;
      bytes.writeUInt32LE(crc32(real), CODE_HASH);
      writeFileSync(cached, bytes);
    }
  }
  // The last part of a directory's name is the user, and later steps of this test have another.
  for (const name of readdirSync(cache)) {
    const own = name.replace(/\\d+$/, "${process.getuid?.() ?? 0}");
    if (own !== name) cpSync(path.join(cache, name), path.join(cache, own), { recursive: true, force: true });
  }
};
`;

const HAS_CACHE = /^v(?:22\.(?:[89]|\d\d)|2[3-9])\b/.test(
  spawnSync(actionNode(), ["--version"], { encoding: "utf8" }).stdout,
);

describe.skipIf(!canBeHostile)("a change that attacks the Action's own code", () => {
  let step: HostileStep;
  let shipped: Record<string, string>;

  beforeAll(async () => {
    step = await HostileStep.start();
    shipped = directoryHashes(path.join(step.paths.action, "dist"));
  }, 240_000);
  afterAll(() => step.stop());

  const named = (result: StepResult): readonly string[] =>
    result.commands.map(({ message }) => message).filter((message) => message.includes("of this Action"));

  /** Names of files that are not what was shipped, without those that no step of this machine loads. */
  const changed = (): readonly string[] => {
    const now = directoryHashes(path.join(step.paths.action, "dist"));
    const names = new Set([...Object.keys(shipped), ...Object.keys(now)]);
    const own = `prebuilds/${process.platform}-${process.arch}/`;
    const loaded = (name: string): boolean =>
      name.startsWith("prebuilds/") ? name.startsWith(own) : !/^(?:cli\.js|licenses\.txt|chunks\/)/.test(name);
    return [...names].filter((name) => loaded(name) && now[name] !== shipped[name]);
  };

  function expectWholeAnswer(result: StepResult): void {
    expect(result.code, result.log).toBe(4);
    expect(result.outputs.verdict).toBe("fail");
    expect(result.summary).toContain("train");
    expect(step.github.comments.map(({ body }) => body).join()).toContain("train");
    const bundle = result.outputs["bundle-path"] ?? "";
    expect(readdirSync(bundle)).toEqual(expect.arrayContaining(["manifest.json", "report.json", "timeline.html"]));
    expect(readFileSync(path.join(bundle, "report.json"), "utf8")).not.toContain("6.6.6");
    expect(readdirSync(bundle, { recursive: true }).filter((name) => String(name).endsWith(".png"))).not.toEqual([]);
  }

  it("code, assets, probe, launcher and sampler that a run rewrites are not used by the gate and later runs", async () => {
    const result = await step.attempt({ attack: REWRITE, breach: true });
    const loot = [...step.loot().keys()];
    expect({ ran: loot.filter((name) => name.startsWith("ran-")), stolen: step.stolen() }).toEqual({
      ran: [],
      stolen: [],
    });
    expect(loot.filter((name) => name.startsWith("inject-")).length).toBeGreaterThan(1);
    expectWholeAnswer(result);
    expect(named(result)).toEqual([expect.stringMatching(/^The measured command changed \d+ files of this Action \(/)]);
    expect(changed()).toEqual([]);
  }, 240_000);

  it("directories that a run replaces, manifests and packages that it plants are not used either", async () => {
    const result = await step.attempt({ attack: REPLACE, breach: true });
    expect([...step.loot().keys()]).toEqual([]);
    expectWholeAnswer(result);
    expect(named(result)).toHaveLength(1);
    expect(changed()).toEqual([]);
    const dist = path.join(step.paths.action, "dist");
    expect(lstatSync(dist).isDirectory()).toBe(true);
    expect(readdirSync(dist)).not.toContain("package.json");
  }, 240_000);

  it.skipIf(!HAS_CACHE)(
    "a compile cache that a run wrote is not used by any step (needs Node 22.8)",
    async () => {
      const result = await step.attempt({ attack: POISON });
      // The attack's own memory counts.
      expect([0, 4], result.log).toContain(result.code);
      const { action, home, temp } = step.paths;
      const start = (entry: string, env: Readonly<Record<string, string>>): Promise<StepResult> =>
        runStepFile({
          node: actionNode(),
          script: path.join(action, "dist/action", entry),
          // Without a configuration, so that each entry ends early.
          cwd: temp,
          env: { RUNNER_TEMP: temp, ...env },
          inputs: { token: step.secrets.token },
        });
      for (const entry of readdirSync(path.join(action, "dist/action")).filter((name) => name !== "code.js")) {
        const unused = await start(entry, { NODE_COMPILE_CACHE: path.join(temp, "cache") });
        expect([unused.code, unused.log], entry).toEqual([2, expect.stringContaining("COMPILE_CACHE_SET")]);
        const cache = { NODE_COMPILE_CACHE: path.join(home, "cache") };
        expect((await start(entry, cache)).log, entry).toContain("forged canary-");
        expect((await start(entry, { ...cache, ...result.variables })).log, entry).not.toMatch(/forged|COMPILE_CACHE/);
      }
      expect([result.variables, changed()]).toEqual([expect.objectContaining({ NODE_DISABLE_COMPILE_CACHE: "1" }), []]);
      const refused = await step.attempt({ attack: POISON, env: { NODE_COMPILE_CACHE: path.join(temp, "cache") } });
      expect([refused.code, refused.variables]).toEqual([2, {}]);
      expect(readdirSync(home)).toEqual([]);
    },
    240_000,
  );
});
