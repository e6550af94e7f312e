import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";

const MODULE = new URL("./own-limits.ts", import.meta.url).href;

/** What `limitsError` returns in a process whose limits `prlimit` changes after they were remembered. */
function changed(...limits: readonly string[]): unknown {
  const script = `import { execFileSync } from "node:child_process";
import { limitsError, rememberLimits } from ${JSON.stringify(MODULE)};
rememberLimits();
execFileSync("prlimit", ["--pid", String(process.pid), ...${JSON.stringify(limits)}]);
const error = limitsError();
console.log(JSON.stringify(error && { code: error.code, message: error.message }));`;
  const args = ["--import", "tsx", "--input-type=module", "--eval", script];
  const { stdout, stderr } = spawnSync("prlimit", ["--nofile=500:600", process.execPath, ...args], {
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

describe.skipIf(process.platform !== "linux")("limitsError", () => {
  it("limitsError is null while no limit changes", () => {
    expect(changed("--nofile")).toBeNull();
  });

  it("limitsError names each changed limit, also where no file can be opened any more", () => {
    expect(changed("--nofile=3:3", "--fsize=0:4096")).toEqual({
      code: "LIMITS_CHANGED",
      message: expect.stringMatching(
        /changed while it measured: Max file size from \S+ to 0:4096, Max open files from \d+:600 to 3:3$/,
      ),
    });
  });
});
