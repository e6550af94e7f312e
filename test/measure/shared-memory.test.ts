import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadNative } from "../../src/sampler/native.ts";
import type { Sampler } from "../../src/sampler/sampler.ts";
import { startSampler } from "../../src/sampler/start.ts";
import { parseRecordFile } from "../../src/telemetry/reading/record-file.ts";
import { recordFileToRecording } from "../../src/telemetry/reading/record-recording.ts";
import type { SampleTable } from "../../src/telemetry/recording/model.ts";
import type { RecordFile } from "../../src/telemetry/recording/record-columns.ts";
import { temporaryDirectory } from "./kit.ts";

const MIB = 2 ** 20;
const POLL_MS = 20;
const possible =
  process.platform === "linux" && "addon" in loadNative() && spawnSync("python3", ["--version"]).status === 0;

/** Five processes that map the same 286 MiB; the line says that all have touched every page. */
const FIVE = `
import mmap, os, sys
shared = mmap.mmap(-1, 286 * 2**20)
for at in range(0, len(shared), 4096): shared[at] = 1
read, write = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        sum(shared[at] for at in range(0, len(shared), 4096))
        os.write(write, b"x")
        sys.stdin.read()
        os._exit(0)
for _ in range(4): os.read(read, 1)
print("ready", flush=True)
sys.stdin.read()
`;

/** 100 MiB and three forks, of which each writes to 2 MiB of them; one write has the pids of all. */
const FORKED = `
import os, sys
held = bytearray(100 * 2**20)
for at in range(0, len(held), 4096): held[at] = 1
read, write = os.pipe()
pids = [os.getpid()]
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        for at in range(0, 2 * 2**20, 4096): held[at] = 2
        os.write(write, b"x")
        sys.stdin.read()
        os._exit(0)
    pids.append(pid)
for _ in range(3): os.read(read, 1)
os.write(1, " ".join(map(str, pids)).encode())
sys.stdin.read()
`;

/** Anonymous and shared memory of one process, what it shares by its part, bytes. */
function proportional(pid: string): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "latin1");
  const part = (name: string): number => Number(new RegExp(`^${name}: +(\\d+) kB$`, "m").exec(rollup)?.[1]) * 1024;
  return part("Pss_Anon") + part("Pss_Shmem");
}

/** Waits for a line, then writes 300 MiB into a file that exists in memory alone and that it never maps. */
const UNMAPPED = `
import os, sys
sys.stdin.readline()
file = os.memfd_create("hidden")
for _ in range(300): os.write(file, b"x" * 2**20)
print("ready", flush=True)
sys.stdin.read()
`;

/** The directory of this process's memory group, in version 2 or 1; null when there is none. */
function memoryGroup(): string | null {
  const lines = readFileSync("/proc/self/cgroup", "utf8").split("\n");
  const at = (pattern: RegExp): string | undefined => lines.flatMap((line) => pattern.exec(line)?.slice(1) ?? [])[0];
  const candidates = [
    path.join("/sys/fs/cgroup", at(/^0::(.*)$/) ?? "-"),
    path.join("/sys/fs/cgroup/memory", at(/^\d+:[^:]*\bmemory\b[^:]*:(.*)$/) ?? "-"),
  ];
  return candidates.find((directory) => existsSync(path.join(directory, "memory.stat"))) ?? null;
}

/** A new memory group below this process's own; null when this user may not make one. */
function ownGroup(): string | null {
  const above = memoryGroup();
  if (above === null) return null;
  const directory = path.join(above, `stormlog-test-${process.pid}`);
  try {
    mkdirSync(directory);
  } catch {
    return null;
  }
  if (existsSync(path.join(directory, "memory.stat"))) return directory;
  rmdirSync(directory);
  return null;
}

describe.skipIf(!possible)("the job's memory with each shared page counted once", () => {
  let directory: string;
  let program: ChildProcess;
  let sampler: Sampler | undefined;

  beforeEach(() => {
    directory = temporaryDirectory();
    sampler = undefined;
  });
  afterEach(async () => {
    sampler?.stop();
    program.stdin?.end();
    if (program.exitCode === null) await once(program, "exit");
    rmSync(directory, { recursive: true, force: true });
  });

  const start = (script: string): void => {
    program = spawn("python3", ["-c", script], { stdio: ["pipe", "pipe", "inherit"] });
  };
  const record = (): RecordFile => parseRecordFile(readFileSync(path.join(directory, "samples.rec")), "samples.rec");
  const sample = async (): Promise<Sampler> => {
    sampler = await startSampler({
      file: path.join(directory, "samples.rec"),
      rootPid: program.pid ?? 0,
      includeRoot: true,
      hostPeriodNs: 5e6,
      devicePeriodNs: 1e9,
      cpuBudget: null,
      marker: null,
      probeDirectory: null,
    });
    return sampler;
  };
  /** The first reading that satisfies a condition, once there is one. */
  const reading = async (satisfies: (shared: RecordFile["shared"], i: number) => boolean): Promise<number> => {
    for (;;) {
      const { shared } = record();
      const found = shared.timeNs.findIndex((_, i) => satisfies(shared, i));
      if (found >= 0) return found;
      await sleep(POLL_MS);
    }
  };
  const highest = (column: "host" | "host_sum" | "host_shared_once" | "host_unmapped"): number => {
    const values = recordFileToRecording(record(), null).tables.flatMap(({ columns }: SampleTable) => [
      ...(columns[column] ?? new Float64Array()),
    ]);
    return Math.max(0, ...values.filter((bytes) => !Number.isNaN(bytes))) / MIB;
  };

  it("five processes that share 286 MiB hold about 286 MiB, although their sum is five times as much", async () => {
    start(FIVE);
    await once(program.stdout ?? program, "data");
    const { sources } = await sample();
    expect(sources).toContainEqual(expect.objectContaining({ name: "host_shared_once", available: true }));
    await reading(({ once: bytes }, i) => bytes[i]! > 286 * MIB);
    expect(highest("host_sum")).toBeGreaterThan(5 * 286);
    for (const column of ["host", "host_shared_once"] as const) {
      expect(highest(column)).toBeGreaterThan(286);
      expect(highest(column)).toBeLessThan(286 + 60);
    }
  });

  it("a program that forks holds at rest what the kernel counts by parts, and no page twice", async () => {
    start(FORKED);
    const [line] = await once(program.stdout ?? program, "data");
    const pids = String(line).split(" ");
    expect(pids).toHaveLength(4);
    await sample();
    await reading(({ once: bytes }, i) => bytes[i]! > 100 * MIB);
    const truth = pids.reduce((sum, pid) => sum + proportional(pid), 0) / MIB;
    expect(truth).toBeLessThan(130);
    expect(highest("host") / truth).toBeGreaterThan(0.99);
    expect(highest("host") / truth).toBeLessThan(1.01);
    expect(highest("host_sum")).toBeGreaterThan(400);
  });

  it("a memfd of 300 MiB that no process maps is seen where the job has a cgroup of its own", async (context) => {
    const group = ownGroup();
    if (group === null) return context.skip("this user cannot make a memory cgroup");
    try {
      start(UNMAPPED);
      writeFileSync(path.join(group, "cgroup.procs"), String(program.pid));
      await sample();
      const ready = once(program.stdout ?? program, "data");
      program.stdin?.write("go\n");
      await ready;
      await reading(({ charged, mapped }, i) => charged[i]! - mapped[i]! >= 300 * MIB);
      expect(sampler?.sources).toContainEqual(expect.objectContaining({ name: "host_unmapped", available: true }));
      expect(highest("host_unmapped")).toBeGreaterThanOrEqual(300);
      expect(highest("host_unmapped")).toBeLessThan(310);
      expect(highest("host_sum")).toBeLessThan(100);
      expect(highest("host")).toBeGreaterThanOrEqual(300);
    } finally {
      sampler?.stop();
      program.stdin?.end();
      if (program.exitCode === null) await once(program, "exit");
      rmdirSync(group);
    }
  });

  it("memory that is not mapped is absent, with the reason, where the cgroup has other processes", async () => {
    start(UNMAPPED);
    const { sources } = await sample();
    const own = sources.find(({ name }) => name === "host_unmapped");
    expect(own).toMatchObject({ available: false, reason: expect.stringContaining("cgroup") });
    await reading(({ once: bytes }, i) => bytes[i]! > 0);
    const tables = recordFileToRecording(record(), null).tables;
    expect(tables.some(({ columns }) => columns.host_shared_once !== undefined)).toBe(true);
    expect(tables.some(({ columns }) => columns.host_unmapped !== undefined)).toBe(false);
  });
});
