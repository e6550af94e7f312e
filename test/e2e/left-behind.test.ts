import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { cli, freshDirectory } from "./cli.ts";

/** Leaves 12 MiB in a file and 12 MiB in a System V segment, whose id it prints; with a second argument nothing. */
const PROGRAM = `
import ctypes, os, sys, time
SIZE = 12 << 20
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
file = f"{sys.argv[1]}/queue-{os.getpid()}"
with open(file, "wb") as out:
    out.write(b"x" * SIZE)
segment = libc.shmget(0, SIZE, 0o1600)
address = libc.shmat(segment, None, 0)
ctypes.memset(address, 1, SIZE)
libc.shmdt(ctypes.c_void_p(address))
time.sleep(0.3)
print("segment", segment, flush=True)
if len(sys.argv) > 2:
    os.unlink(file)
    libc.shmctl(segment, 0, None)
`;
const hasPython = spawnSync("python3", ["-c", "import ctypes"]).status === 0;

describe.skipIf(!hasPython || !existsSync("/proc/sysvipc/shm"))("memory that outlives the command", () => {
  it("fails with the names of what two runs left behind, and a run that removes its files does not fail", {
    timeout: 120_000,
  }, async () => {
    const shared = mkdtempSync("/dev/shm/stormlog-left-e2e-");
    onTestFinished(() => rmSync(shared, { recursive: true, force: true }));
    const cwd = freshDirectory();
    const run = async (...args: string[]) => {
      const done = await cli(
        ["run", "--attribute", "off", "--baseline", "none", "--", "python3", "-c", PROGRAM, shared, ...args],
        { cwd },
      );
      onTestFinished(() => {
        for (const [, id = ""] of `${done.stdout}${done.stderr}`.matchAll(/^segment (\d+)$/gm)) {
          spawnSync("ipcrm", ["--shmem-id", id]);
        }
      });
      return done;
    };
    const clean = await run("remove");
    expect(clean.stdout, clean.stderr).not.toContain("outlive");

    const { code, stdout, stderr } = await run();
    expect(code, stderr).toBe(4);
    const text = stdout.replace(/\s+/g, " ");
    expect(text).toContain("24.0 MiB of files in RAM outlive the command, confirmed in 2 of 2 runs");
    expect(text).toMatch(/24\.00 MiB in 2 files in RAM outlive the command: .*queue-\d+ \(12\.00 MiB\)/);
    expect(text).toMatch(/System V segment \d+ \(12\.00 MiB\)/);
  });
});
