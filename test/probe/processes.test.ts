import { spawnSync } from "node:child_process";
import { mkdirSync, rmdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  HEAP,
  only,
  probed,
  probedScript,
  RECORDED,
  readSoFar,
  recordsOf,
  temporaryDirectory,
} from "./testing/probed.ts";
import { PYTHON, PYTHONS, versionOf } from "./testing/pythons.ts";

const isRoot = process.getuid?.() === 0;
const EACH = PYTHONS.map((python) => [versionOf(python), python] as const);

describe.skipIf(PYTHON === null)("the probe in the processes of a program", () => {
  const python = PYTHON!;

  it("leaves every record it made before a SIGKILL", async () => {
    const ended = await probed(python, ["-c", "import time; print('up', flush=True); time.sleep(60)"], {
      during: async (child, directory) => {
        while (!readSoFar(directory).some((left) => left.records.length >= 10)) await sleep(20);
        child.kill("SIGKILL");
      },
    });
    expect(ended.signal).toBe("SIGKILL");
    const left = only(ended);
    expect(left.header.ended).toBe(false);
    expect(left.lost).toBe(0);
    expect(left.records.length).toBeGreaterThanOrEqual(10);
    expect(left.info.get("pid")).toBe(String(left.pid));
  });

  it.each(EACH)("forks, forks of forks and their parent have separate rings in Python %s", async (_version, python) => {
    const script = `
import os, sys, time
kept = bytearray(8 << 20)
time.sleep(0.6)
pids = []
for number in range(2):
    pid = os.fork()
    if pid == 0:
        more = bytearray(32 << 20)
        if number == 1 and os.fork() == 0:
            time.sleep(0.8)
            sys.exit(0)
        time.sleep(0.8)
        sys.exit(0)
    pids.append(pid)
time.sleep(1)
for pid in pids: os.waitpid(pid, 0)
print(os.getpid(), *pids)
`;
    const ended = await probedScript(python, script);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    const [own, ...children] = ended.stdout.trim().split(" ").map(Number);
    expect(ended.left).toHaveLength(4);
    const parent = ended.left.find(({ pid }) => pid === own)!;
    // The parent's thread was stopped for the fork, and went on.
    const times = recordsOf(parent, HEAP).map(
      ({ monotonicNs }) => Number(monotonicNs - parent.records[0]!.monotonicNs) / 1e6,
    );
    expect(times.at(-1)).toBeGreaterThan(500);
    expect(times.filter((ms) => ms > 100).length).toBeGreaterThan(5);
    for (const pid of children) {
      const child = ended.left.find((left) => left.pid === pid)!;
      expect(child.info.get("ppid")).toBe(String(own));
      expect(child.header.ended).toBe(true);
      const grown = (recordsOf(child, HEAP).at(-1)?.values[0] ?? 0) - (recordsOf(parent, HEAP)[0]?.values[0] ?? 0);
      expect(grown).toBeGreaterThan(31 * 2 ** 20);
      // The parent's ring contains no values of the child.
      expect(Math.max(...recordsOf(parent, HEAP).map(({ values }) => values[0] ?? 0))).toBeLessThan(40 * 2 ** 20);
    }
  });

  it("follows a parent that forks faster than a tenth of a second", async () => {
    const script = `
import os, time
until = time.monotonic() + 1
while time.monotonic() < until:
    pid = os.fork()
    if pid == 0: os._exit(0)
    os.waitpid(pid, 0)
    time.sleep(0.02)
`;
    const { left, stderr } = await probedScript(python, script);
    expect(stderr).toBe("");
    expect(left).toHaveLength(1);
    expect(left[0]?.header.ended).toBe(true);
    expect(left[0]?.records.length).toBeGreaterThan(1);
  });

  it.each(["fork", "spawn", "forkserver"])("follows multiprocessing's %s", async (method) => {
    const script = `
import multiprocessing, os, time
def work(n):
    time.sleep(0.8)
    return os.getpid()
if __name__ == "__main__":
    with multiprocessing.get_context("${method}").Pool(2) as pool:
        print(*set(pool.map(work, range(4), chunksize=1)))
`;
    const ended = await probedScript(python, script);
    expect(ended.stderr.replace(/^.*DeprecationWarning.*\n.*\n/gm, "")).toBe("");
    const workers = ended.stdout.trim().split(" ").map(Number);
    expect(workers.length).toBeGreaterThan(0);
    for (const pid of workers) expect(ended.left.some((left) => left.pid === pid)).toBe(true);
  });

  it("follows subprocesses, and gives a program started by exec a separate ring", async () => {
    const script = `
import os, subprocess, sys, time
subprocess.run([sys.executable, "-c", "import time; time.sleep(0.8)"], check=True)
os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(0.8)"])
`;
    const ended = await probedScript(python, script);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    const pids = ended.left.map(({ pid }) => pid);
    expect(ended.left).toHaveLength(3);
    expect(new Set(pids).size).toBe(2);
    const images = ended.left.filter(({ pid }) => pids.filter((other) => other === pid).length === 2);
    expect(images.map(({ name }) => name.split(".")[1])).toEqual(["0", "1"]);
    expect(images.map(({ header }) => header.ended)).toEqual([false, true]);
  });

  it("continues in a daemon that closed every descriptor, and later closes none of the program's", async () => {
    const script = `${RECORDED}
import gc
recorded(1)
os.closerange(3, 4096)
mine = [os.open("/dev/null", os.O_RDONLY) for _ in range(16)]
recorded(8)
if os.fork() == 0:
    gc.collect()
    time.sleep(0.2)
    for fd in mine: os.fstat(fd)
    os._exit(0)
os.wait()
recorded(8)
for fd in mine: os.fstat(fd)
print("whole")
`;
    const ended = await probedScript(python, script);
    expect(ended).toMatchObject({ code: 0, stdout: "whole\n", stderr: "" });
    const parent = ended.left.find(({ header }) => header.ended)!;
    expect(parent.records.length).toBeGreaterThanOrEqual(17);
  });

  it("keeps what it has when the process ends past the interpreter", async () => {
    const ended = await probed(python, ["-c", `${RECORDED}recorded(5)\nos._exit(3)`]);
    expect(ended).toMatchObject({ code: 3, stderr: "" });
    const left = only(ended);
    expect(left.header.ended).toBe(false);
    expect(left.records.length).toBeGreaterThan(4);
  });

  it("leaves a signal that the program waits for to the program", async () => {
    const script = `
import os, signal, time
time.sleep(0.25)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
for name in (signal.SIGTERM, signal.SIGUSR1):
    os.kill(os.getpid(), name)
    time.sleep(0.1)
    print(signal.sigwait({name}) == name)
`;
    const ended = await probedScript(python, script);
    expect(ended).toMatchObject({ code: 0, signal: null, stdout: "True\nTrue\n", stderr: "" });
  });

  it("leaves a signal to the program in the first tenth of a second, too", async () => {
    const script = `
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
os.kill(os.getpid(), signal.SIGTERM)
print(signal.sigwait({signal.SIGTERM}) == signal.SIGTERM)
`;
    const ended = await probedScript(python, script);
    expect(ended).toMatchObject({ code: 0, signal: null, stdout: "True\n", stderr: "" });
  });

  it.skipIf(!isRoot)("continues in a process that dropped its privileges", async () => {
    const script = `${RECORDED}recorded(1)\nos.setgid(65534); os.setuid(65534); time.sleep(1.8); print('ran')`;
    const ended = await probedScript(python, script);
    expect(ended).toMatchObject({ code: 0, stdout: "ran\n", stderr: "" });
    const left = only(ended);
    expect(Number(left.records.at(-1)!.monotonicNs - left.records[0]!.monotonicNs)).toBeGreaterThan(8e8);
  });

  it.skipIf(!isRoot)("sends no signal and leaves no partial file on a full disk", async () => {
    const disk = path.join(temporaryDirectory(), "disk");
    mkdirSync(disk);
    if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", disk]).status !== 0) return;
    onTestFinished(() => {
      spawnSync("umount", [disk]);
      rmdirSync(disk);
    });
    const ended = await probed(python, ["-c", "import time; time.sleep(0.5); print('ran')"], { directory: disk });
    expect(ended).toMatchObject({ code: 0, signal: null, stdout: "ran\n", stderr: "", left: [] });
  });

  it("stops for no time that a user would notice when the process ends while it loads", async () => {
    // Ends within the few milliseconds in which the probe's thread imports what it needs.
    for (const ms of [98, 101, 104, 108, 112]) {
      const ended = await probed(python, ["-c", `import time; time.sleep(${ms / 1000})`], { timeoutMs: 10_000 });
      expect(ended).toMatchObject({ code: 0, signal: null, stderr: "" });
    }
  });

  it("runs once in a process with several interpreters", async () => {
    const script = `
import time
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
own = interpreters.create()
interpreters.${"run_string"}(own, "import time; time.sleep(0.3)")
time.sleep(0.3)
interpreters.destroy(own)
print("ran")
`;
    const ended = await probedScript(python, script);
    expect(ended.stderr).toBe("");
    expect(ended.left).toHaveLength(1);
  });
});
