import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { buildInto, type StartSize } from "../../scripts/build.mjs";
import { actionNode } from "./testing/tools.ts";
import { directoryHashes } from "./testing/unzip.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A file and everything that it imports statically, as text. */
function startText(file: string, seen = new Set<string>()): string {
  if (seen.has(file)) return "";
  seen.add(file);
  const text = readFileSync(file, "utf8");
  const imported = [...text.matchAll(/(?:\bfrom|[;}\n]import)"(\.[^"]+)"/g)].map(([, name = ""]) => name);
  return [text, ...imported.map((name) => startText(path.resolve(path.dirname(file), name), seen))].join("\n");
}

/** Preloaded: ends a process that loads a module of Node without a listener for SIGUSR1, which opens the inspector. */
const WITHOUT_LISTENER = 97;
const WATCH = `data:text/javascript,
const { getBuiltinModule } = process;
const check = () => { if (process.listenerCount("SIGUSR1") === 0) process.reallyExit(${WITHOUT_LISTENER}); };
process.getBuiltinModule = (name) => { check(); return getBuiltinModule(name); };
process.on("exit", check);`;

/** Strings that survive minifying: undici's errors, the artifact service, the Parquet writer, the renderer. */
const LATE = ["UND_ERR_HEADERS_TIMEOUT", "CreateArtifact", "PAR1", "index_bg.wasm"];

describe("what a step starts with", () => {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-start-"));
  const dist = path.join(directory, "dist");
  let sizes: Record<string, StartSize>;

  beforeAll(async () => {
    sizes = await buildInto(dist);
  });

  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it("a step starts with less than 150 kB of own code and 40 kB of packages", () => {
    const steps = Object.entries(sizes).filter(([name]) => name.startsWith("action/"));
    expect(steps.length).toBeGreaterThanOrEqual(2);
    for (const [name, { own, packages }] of steps) {
      expect(own, name).toBeLessThan(150_000);
      expect(packages, name).toBeLessThan(40_000);
    }
  });

  it("a step starts without an HTTP client, an engine or a renderer, which its later chunks contain", () => {
    const chunks = path.join(dist, "chunks");
    const entries = readdirSync(path.join(dist, "action"));
    expect(entries.length).toBeGreaterThanOrEqual(5);
    for (const entry of entries) {
      const text = startText(path.join(chunks, `step-${entry}`));
      expect(text.length, entry).toBeGreaterThan(5000);
      expect(text.length, entry).toBeLessThan(200_000);
      for (const word of LATE) expect(text.includes(word), `${entry}: ${word}`).toBe(false);
    }
    const all = readdirSync(chunks).map((name) => readFileSync(path.join(chunks, name), "utf8"));
    for (const word of LATE) expect(all.join("\n").includes(word), word).toBe(true);
  });

  it.each([process.execPath, actionNode()])("an entry ignores SIGUSR1 before it loads anything: %s", (node) => {
    const steps = readdirSync(path.join(dist, "action"));
    for (const entry of ["cli.js", ...steps.map((name) => `action/${name}`)]) {
      const file = path.join(dist, entry);
      expect(readFileSync(file, "utf8"), entry).not.toMatch(/(?:^|[;}])import\b(?!\()/m);
      const { status } = spawnSync(node, ["--import", WATCH, file], { env: { PATH: process.env.PATH } });
      expect([WITHOUT_LISTENER, null], entry).not.toContain(status);
    }
    expect(spawnSync(node, ["--import", WATCH, "-e", "0"]).status).toBe(WITHOUT_LISTENER);
  });

  it("an Action runs its own step alone: no later one executes files that a measured command may have rewritten", () => {
    for (const directory of ["", "accept", "merge", "refresh", "report"]) {
      const { runs } = parse(readFileSync(path.join(ROOT, directory, "action.yml"), "utf8"));
      expect(Object.keys(runs), directory).toEqual(["using", "main"]);
    }
  });

  it("a build fails when a step starts with an HTTP client", async () => {
    const heavy = path.join("build", `heavy-start-${process.pid}.ts`);
    writeFileSync(
      path.join(ROOT, heavy),
      'import { HttpClient } from "@actions/http-client";\nnew HttpClient("x").dispose();\n',
    );
    try {
      await expect(buildInto(path.join(directory, "heavy"), { "action/main": heavy })).rejects.toThrow(
        /action\/main starts with \d+ bytes of packages, .*undici/,
      );
    } finally {
      rmSync(path.join(ROOT, heavy));
    }
  });

  it("a build is the same byte for byte in another directory", async () => {
    const again = path.join(directory, "elsewhere/deeper/dist");
    await buildInto(again);
    expect(directoryHashes(again)).toEqual(directoryHashes(dist));
  });
});
