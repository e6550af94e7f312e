import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canBeHostile, type HostilePaths, HostileStep } from "../action/testing/hostile-step.ts";

const NAME = "libnvidia-ml.so.1";
const PREBUILD = `dist/prebuilds/linux-${process.arch}`;

/** A library that leaves the environment of the process that loads it in the file named by `LOOT`. */
const LIBRARY = `#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) {
  char bytes[65536];
  const int from = open("/proc/self/environ", O_RDONLY), to = open(LOOT, O_WRONLY | O_CREAT | O_APPEND, 0666);
  for (ssize_t n; (n = read(from, bytes, sizeof bytes)) > 0;) if (write(to, bytes, n) < 0) break;
}
`;

/** Leaves the library wherever a loader may look for it in the next run. */
const LEAVE = `import { copyFileSync, mkdirSync } from "node:fs";
import path from "node:path";
export const before = ({ workspace, action, home, temp }) => {
  const places = [temp + "/lib", workspace, workspace + "/lib", action + "/${PREBUILD}", action + "/dist/action", action + "/dist"];
  for (const place of places) {
    mkdirSync(place, { recursive: true });
    copyFileSync(home + "/evil.so", path.join(place, "${NAME}"));
  }
};
`;

/** Writes the library over a library in use, in place, so that what has mapped it sees it. */
const OVERWRITE = `import { copyFileSync } from "node:fs";
export const before = ({ home, temp }) => copyFileSync(home + "/evil.so", temp + "/named.so");
`;

const hasCompiler = spawnSync("gcc", ["--version"]).status === 0;

describe.skipIf(!canBeHostile || !hasCompiler)("a change that reaches for the gate's native code", () => {
  let step: HostileStep;
  let built: string;

  beforeAll(async () => {
    step = await HostileStep.start();
    built = mkdtempSync(path.join(tmpdir(), "stormlog-library-"));
    const source = path.join(built, "library.c");
    writeFileSync(source, LIBRARY);
    const loot = JSON.stringify(path.join(step.paths.loot, "loaded"));
    const compile = ["-shared", "-fPIC", "-O1", `-DLOOT=${loot}`, "-o", path.join(built, "evil.so"), source];
    execFileSync("gcc", compile);
    writeFileSync(source, "int honest(void) { return 1; }\n");
    execFileSync("gcc", ["-shared", "-fPIC", "-O1", "-o", path.join(built, "honest.so"), source]);
  }, 120_000);
  afterAll(async () => {
    await step.stop();
    rmSync(built, { recursive: true, force: true });
  });

  const bring = ({ home, temp }: HostilePaths): void => {
    copyFileSync(path.join(built, "evil.so"), path.join(home, "evil.so"));
    copyFileSync(path.join(built, "honest.so"), path.join(temp, "named.so"));
    mkdirSync(path.join(temp, "lib"));
  };
  const searched = (): string => `${step.paths.temp}/lib:${step.paths.workspace}/lib:`;

  it("a library that the command leaves in LD_LIBRARY_PATH, the checkout and beside the addon is not loaded", async () => {
    const env = { LD_LIBRARY_PATH: searched() };
    const result = await step.attempt({ breach: true, attack: LEAVE, prepare: bring, env });
    expect(step.stolen()).toEqual([]);
    expect(step.loot().has("loaded"), result.log).toBe(false);
    expect(result.code, result.log).toBe(4);
    expect(result.log).toContain("because it is not isolated");
    // As a control: what loads the library is seen.
    spawnSync("true", [], { env: { LD_PRELOAD: path.join(built, "evil.so"), CONTROL: step.secrets.token } });
    expect(step.stolen()).toEqual(["token"]);
  }, 120_000);

  it("a library of the change that lies in LD_LIBRARY_PATH before the first run is not loaded", async () => {
    const prepare = (paths: HostilePaths): void => {
      bring(paths);
      copyFileSync(path.join(built, "evil.so"), path.join(paths.temp, "lib", NAME));
    };
    const result = await step.attempt({ prepare, env: { LD_LIBRARY_PATH: searched() } });
    expect(step.loot().has("loaded"), result.log).toBe(false);
    expect(result.code, result.log).toBe(0);
  }, 120_000);

  it("the library that STORMLOG_GATE_NVML names is not taken from what the command writes over it", async () => {
    const env = { STORMLOG_GATE_NVML: path.join(step.paths.temp, "named.so") };
    const result = await step.attempt({ breach: true, attack: OVERWRITE, prepare: bring, env });
    expect(step.loot().has("loaded"), result.log).toBe(false);
    expect(result.code, result.log).toBe(4);
    // As a control: it was written over.
    expect(readFileSync(env.STORMLOG_GATE_NVML)).toEqual(readFileSync(path.join(built, "evil.so")));
  }, 120_000);

  it("a bare name in STORMLOG_GATE_NVML is not found in the checkout", async () => {
    const prepare = (paths: HostilePaths): void => {
      bring(paths);
      copyFileSync(path.join(built, "evil.so"), path.join(paths.workspace, NAME));
    };
    const result = await step.attempt({ prepare, env: { STORMLOG_GATE_NVML: NAME, LD_LIBRARY_PATH: "." } });
    expect(step.loot().has("loaded"), result.log).toBe(false);
    expect(result.code, result.log).toBe(0);
  }, 120_000);

  it("the step without the addon, which closes its process, starts nothing of the change", async () => {
    const attack = `import { readdirSync, readFileSync, writeFileSync } from "node:fs";
export const before = ({ loot }) => {
  writeFileSync(loot + "/started", "");
  for (const pid of readdirSync("/proc").filter((name) => /^\\d+$/.test(name))) {
    try {
      writeFileSync(loot + "/" + pid, readFileSync("/proc/" + pid + "/environ"));
    } catch {}
  }
};`;
    const prepare = ({ action }: HostilePaths): void =>
      rmSync(path.join(action, "dist/prebuilds"), { recursive: true, force: true });
    const open = await step.attempt({ attack, prepare });
    expect(open.code, open.log).toBe(1);
    expect(open.log).toContain("SAMPLER_NATIVE_MISSING");
    expect(existsSync(path.join(step.paths.loot, "started"))).toBe(false);
    const closed = await step.attempt({ attack });
    expect(existsSync(path.join(step.paths.loot, "started")), closed.log).toBe(true);
    expect(step.stolen(), closed.log).toEqual([]);
    expect(closed.log).not.toContain("because the job");
  }, 120_000);
});
