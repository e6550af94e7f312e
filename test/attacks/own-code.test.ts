import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Attempt, canWall, HostileStep } from "../action/testing/hostile-step.ts";
import type { StepResult } from "../action/testing/mini-runner.ts";
import { directoryHashes } from "../action/testing/unzip.ts";

/** Saves the environment of what loads it in `loot`: as a module of either kind, as Python, as a program. */
const CANARIES = `import * as fs from "node:fs";
import path from "node:path";
const where = (loot, kind) => JSON.stringify(loot + "/ran-" + kind + "-");
const script = (loot) =>
  'process.getBuiltinModule("node:fs").writeFileSync(' + where(loot, "code") + ' + process.pid, JSON.stringify(process.env));\\n';
const python = (loot) =>
  'import os as _o; open(' + where(loot, "probe") + ' + str(_o.getpid()), "w").write(repr(dict(_o.environ)))\\n';
const program = (loot) => '#!/bin/sh\\nenv > ' + where(loot, "program") + '$$\\nexit 0\\n';
/** The names of the attempts that did not fail. */
const through = [];
const attempt = (name, deed) => { try { deed(); through.push(name); } catch {} };
const report = (loot) => fs.writeFileSync(loot + "/through", through.join("\\n"));
`;

/** Rewrites every file that the Action executes, in place or by another one. */
const REWRITE = `${CANARIES}
export const after = ({ action, loot }) => {
  const dist = path.join(action, "dist");
  for (const entry of fs.readdirSync(dist, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const text = /\\.[cm]?js$/.test(file) ? script(loot) : file.endsWith(".py") ? python(loot) : program(loot);
    attempt("write " + file, () => fs.writeFileSync(file, text));
    attempt("replace " + file, () => {
      fs.writeFileSync(file + "~", text, { mode: 0o755 });
      fs.renameSync(file + "~", file);
    });
  }
  attempt("package.json", () => fs.appendFileSync(path.join(action, "package.json"), " "));
  report(loot);
};
`;

/** Replaces the Action's directories by links to a rewritten copy, and plants packages and manifests. */
const REPLACE = `${CANARIES}
export const after = ({ action, loot, home }) => {
  for (const name of ["core", "github", "artifact"]) {
    const planted = path.join(action, "node_modules/@actions", name);
    fs.mkdirSync(planted, { recursive: true });
    fs.writeFileSync(path.join(planted, "index.js"), script(loot));
    fs.writeFileSync(path.join(planted, "package.json"), JSON.stringify({ main: "index.js" }));
  }
  const dist = path.join(action, "dist");
  const own = path.join(home, "dist");
  fs.cpSync(dist, own, { recursive: true });
  for (const name of fs.readdirSync(path.join(own, "chunks"))) fs.writeFileSync(path.join(own, "chunks", name), script(loot));
  for (const directory of ["", "action", "chunks", "probe"])
    attempt("manifest in " + directory, () => fs.writeFileSync(path.join(dist, directory, "package.json"), '{"type":"commonjs"}'));
  for (const directory of [dist, path.join(dist, "chunks"), action]) {
    attempt("rename " + directory, () => fs.renameSync(directory, directory + "-old"));
    attempt("remove " + directory, () => fs.rmdirSync(directory));
  }
  attempt("link", () => fs.symlinkSync(own, dist));
  report(loot);
};
`;

/** Writes into the directory that V8 caches the code of the Action in. */
const POISON = `${CANARIES}
export const after = ({ temp, loot }) => {
  const cache = path.join(temp, "cache");
  attempt("add", () => fs.writeFileSync(path.join(cache, "new"), "x"));
  for (const name of fs.readdirSync(cache, { recursive: true }))
    attempt("add to " + name, () => fs.writeFileSync(path.join(cache, name, "new"), "x"));
  attempt("rename", () => fs.renameSync(cache, cache + "-old"));
  report(loot);
};
`;

describe.skipIf(!canWall)("a change that attacks the Action's own code from behind the wall", () => {
  let step: HostileStep;
  let shipped: Record<string, string>;

  beforeAll(async () => {
    step = await HostileStep.start();
    shipped = directoryHashes(path.join(step.paths.action, "dist"));
  }, 240_000);
  afterAll(() => step.stop());

  const attempt = (given: Attempt): Promise<StepResult> =>
    step.attempt({ breach: true, inputs: { isolation: "require" }, ...given });

  function expectUnchanged(result: StepResult): void {
    expect([...step.loot()], result.log).toEqual([["through", ""]]);
    expect(directoryHashes(path.join(step.paths.action, "dist"))).toEqual(shipped);
    expect(result.code, result.log).toBe(4);
    expect(result.outputs.verdict).toBe("fail");
    expect(result.summary).toContain("train");
    expect(step.github.comments.map(({ body }) => body).join()).toContain("train");
    expect(readFileSync(result.outputs["report-path"] ?? "", "utf8")).toContain('"fail"');
  }

  it("code, assets, probe, launcher and sampler cannot be rewritten by a command", async () => {
    expectUnchanged(await attempt({ attack: REWRITE }));
  }, 240_000);

  it("directories of the Action cannot be replaced by a command, and packages that it plants are not used", async () => {
    expectUnchanged(await attempt({ attack: REPLACE }));
  }, 240_000);

  it("the compile cache that the step uses cannot be written by a command", async () => {
    const cache = path.join(step.paths.temp, "cache");
    expectUnchanged(
      await attempt({
        attack: POISON,
        env: { NODE_COMPILE_CACHE: cache },
        prepare: () => mkdirSync(path.join(cache, "v"), { recursive: true }),
      }),
    );
  }, 240_000);
});
