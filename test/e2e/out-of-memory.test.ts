import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it, vi } from "vitest";
import type { Finding } from "../../src/analysis/series/document.ts";
import { readParquet } from "../../src/telemetry/formats/parquet.ts";
import type { RecordingInfo } from "../../src/telemetry/recording/model.ts";
import { CLI, type CliResult, cli, freshDirectory } from "./cli.ts";

const PYTHON = "/usr/bin/python3";
const hasTorch = spawnSync(PYTHON, ["-c", "import torch"]).status === 0;
const hasCompiler = spawnSync("g++", ["--version"]).status === 0;
const MIB = 1024 ** 2;

// Filling memory takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

/**
 * Grows by 8 MiB every 20 ms and prints CLOCK_MONOTONIC each time: a log that is independent of the sampler.
 */
const GROWING = `import sys, time
kept = []
def grow():
    kept.append(bytearray(8 << 20))
def main():
    for step in range(100000):
        grow()
        print("beat", time.clock_gettime_ns(time.CLOCK_MONOTONIC), flush=True)
        time.sleep(0.02)
`;

const root = freshDirectory();
let directories = 0;
/** One directory for each run, below one that is deleted at the end. */
function ownDirectory(): string {
  const directory = path.join(root, String(directories++));
  mkdirSync(directory);
  return directory;
}

interface Ended extends CliResult {
  readonly run: string;
  readonly info: RecordingInfo;
  readonly findings: readonly Finding[];
  readonly verdict: string;
  readonly bundle: string;
}

async function gate(
  cwd: string,
  command: readonly string[],
  options: readonly string[] = ["--attribute", "off"],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const args = ["run", "--json", "--baseline", "none", ...options, "--", ...command];
  return ended(cwd, await cli(args, { cwd, env }));
}

function ended(cwd: string, result: CliResult): Ended {
  const bundle = path.join(cwd, "stormlog-bundle");
  const run = path.join(bundle, "runs", "default", "1");
  const info = JSON.parse(readFileSync(path.join(run, "recording.json"), "utf8")) as RecordingInfo;
  const { payload } = JSON.parse(result.stdout) as {
    payload: { verdict: string; scenarios: { findings: readonly Finding[] }[] };
  };
  return { ...result, run, info, bundle, verdict: payload.verdict, findings: payload.scenarios[0]?.findings ?? [] };
}

/** The bundle is whole, and its window reaches to within a second of the last output, at full rate. */
async function expectLastSecond({ bundle, run, info }: Ended): Promise<void> {
  const manifest = JSON.parse(readFileSync(path.join(bundle, "manifest.json"), "utf8"));
  expect(manifest).toMatchObject({ complete: true, exit_code: 4, risk_detected: true });
  const names = manifest.files.map((file: { path: string }) => file.path);
  for (const name of ["oom.json", "window.parquet"]) expect(names).toContain(`runs/default/1/oom/${name}`);
  for (const name of ["report.json", "timeline.png", "timeline.html"]) expect(names).toContain(name);
  const hostTimes = async (file: string): Promise<Float64Array> =>
    (await readParquet(path.join(run, file))).tables.find(({ device }) => device === "host")?.timeNs ??
    new Float64Array();
  const times = await hostTimes("oom/window.parquet");
  const last = times.at(-1) ?? Number.NaN;
  const beats = [...readFileSync(path.join(run, "output.log"), "utf8").matchAll(/^beat (\d+)$/gm)];
  const lastBeat = Number(BigInt(beats.at(-1)?.[1] ?? 0) - BigInt(info.clock.monotonic_start_ns));
  expect(last).toBeGreaterThan(lastBeat - 1e9);
  const lastSecond = (all: Float64Array): number[] => [...all].filter((time) => time > last - 1e9 && time <= last);
  expect(lastSecond(times)).toEqual(lastSecond(await hostTimes("samples.parquet")));
}

const oomOf = ({ findings }: Ended) => findings.filter(({ classification }) => classification.startsWith("oom"));

describe.skipIf(process.platform !== "linux")("a command that runs out of memory", () => {
  it("a Python command under an address space limit fails with the line of the request", async () => {
    const cwd = ownDirectory();
    writeFileSync(path.join(cwd, "leak.py"), `${GROWING}main()\n`);
    const result = await gate(cwd, ["sh", "-c", `ulimit -v 700000; exec ${PYTHON} leak.py`], []);
    expect(result.code).toBe(4);
    expect(result.verdict).toBe("fail");
    await expectLastSecond(result);
    expect(result.info.oom).toMatchObject({ certainty: "established", runtime: "python", swallowed: false });
    const [finding] = oomOf(result);
    expect(finding).toMatchObject({ classification: "oom", severity: "critical" });
    expect(finding?.evidence).toMatchObject({ line: "leak.py:4", function: "grow", exception: "MemoryError" });
    expect(finding?.description).toContain("leak.py:4 requested more memory than was free");
    const held = result.findings.filter(({ classification }) => classification === "held_at_peak");
    expect(held[0]?.evidence).toMatchObject({ line: "leak.py:4" });
    expect(held[0]?.confidence).toBeGreaterThan(0.6);
    expect(readFileSync(path.join(result.run, "oom", "traceback.txt"), "utf8")).toContain("in grow");
  });

  it.skipIf(!hasTorch)("a PyTorch command on the CPU reports the requested size", async () => {
    const cwd = ownDirectory();
    const script = GROWING.replace("import sys", "import torch, sys").replace(
      "bytearray(8 << 20)",
      "torch.ones(1 << 24)",
    );
    writeFileSync(path.join(cwd, "leak.py"), `${script}main()\n`);
    const result = await gate(cwd, ["sh", "-c", `ulimit -v 4000000; exec ${PYTHON} leak.py`]);
    expect(result.code).toBe(4);
    await expectLastSecond(result);
    expect(result.info.oom).toMatchObject({ runtime: "torch", device: "host", requested_bytes: 64 * MIB });
    expect(oomOf(result)[0]?.description).toContain("leak.py:4 requested 64.00 MiB");
  });

  it.skipIf(!hasCompiler)("a C++ command that dies by std::bad_alloc fails as out of memory", async () => {
    const cwd = ownDirectory();
    writeFileSync(
      path.join(cwd, "leak.cc"),
      `#include <cstdio>
#include <cstring>
#include <ctime>
#include <unistd.h>
int main() {
  for (;;) {
    char* block = new char[8 << 20];
    std::memset(block, 1, 8 << 20);
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    std::printf("beat %lld\\n", now.tv_sec * 1000000000LL + now.tv_nsec);
    std::fflush(stdout);
    usleep(20000);
  }
}
`,
    );
    expect(spawnSync("g++", ["-O0", "-o", "leak", "leak.cc"], { cwd }).status).toBe(0);
    const result = await gate(cwd, ["sh", "-c", "ulimit -c 0; ulimit -v 600000; exec ./leak"]);
    expect(result.code).toBe(4);
    await expectLastSecond(result);
    expect(result.info.exit).toEqual({ kind: "signaled", signal: "SIGABRT" });
    expect(result.info.oom).toMatchObject({ runtime: "c++", exception: "std::bad_alloc" });
  });

  it("a Node command at the limit of V8's heap fails as out of memory", async () => {
    const cwd = ownDirectory();
    const script = `const kept = [];
setInterval(() => {
  for (let i = 0; i < 20000; i++) kept.push({ i, text: "x".repeat(8) + i });
  console.log("beat " + process.hrtime.bigint());
}, 20);`;
    writeFileSync(path.join(cwd, "leak.js"), script);
    const result = await gate(cwd, [process.execPath, "--max-old-space-size=96", "leak.js"]);
    expect(result.code).toBe(4);
    await expectLastSecond(result);
    expect(result.info.oom).toMatchObject({ runtime: "node", source: "output" });
    expect(oomOf(result)[0]?.remediation.join(" ")).toContain("--max-old-space-size");
  });

  it("a command that swallows the error fails by what the probe recorded", async () => {
    const cwd = ownDirectory();
    const probe = path.join(cwd, "stormlog-bundle", "runs", "default", "1", "probe");
    // The record is written here as the probe writes it, so that the test needs no framework.
    const script = `import os, time
time.sleep(1.2)
try:
    kept = bytearray(1 << 60)
except MemoryError:
    directory = os.environ.get("STORMLOG_GATE_PROBE_DIR", ${JSON.stringify(probe)})
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "%d.7.oom.0" % os.getpid()), "w") as record:
        record.write("time_ns=%d\\nkind=memory-error\\nexception=MemoryError\\nmessage=\\n" % time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        record.write("requested_bytes=%d\\nstep=7\\n" % (1 << 60))
        record.write('traceback=Traceback (most recent call last):%0A  File "swallow.py", line 4, in <module>%0A    kept = bytearray(1 << 60)%0A\\n')
print("beat", time.clock_gettime_ns(time.CLOCK_MONOTONIC), flush=True)
time.sleep(0.3)
`;
    writeFileSync(path.join(cwd, "swallow.py"), script);
    const result = await gate(cwd, [PYTHON, "swallow.py"]);
    expect(result.info.exit).toEqual({ kind: "exited", code: 0 });
    expect(result.code).toBe(4);
    expect(result.verdict).toBe("fail");
    await expectLastSecond(result);
    expect(result.info.oom).toMatchObject({ source: "probe", swallowed: true, step: 7, requested_bytes: 2 ** 60 });
    expect(oomOf(result)[0]?.description).toMatch(
      /in step 7: swallow\.py:4 requested 1024\.00 PiB.*continued and ended/,
    );
    const events = readFileSync(path.join(result.run, "events.json"), "utf8");
    expect(events).toContain("oom_reason");
  });
});

describe.skipIf(process.platform !== "linux")("what is not running out of memory", () => {
  it("a SIGKILL from outside is not reported as out of memory", async () => {
    const cwd = ownDirectory();
    const result = await gate(cwd, ["sh", "-c", "sleep 0.5; kill -KILL $$"]);
    expect(result.code).toBe(1);
    expect(result.info.exit).toEqual({ kind: "signaled", signal: "SIGKILL" });
    expect(result.info.oom).toBeUndefined();
    expect(oomOf(result)).toEqual([]);
    expect(existsSync(path.join(result.run, "oom"))).toBe(false);
    expect(result.stderr + result.stdout).toContain("Nothing shows that the kernel ran out of memory");
  });

  it("a shell that exits with status 137 and prints Killed is not reported as out of memory", async () => {
    const cwd = ownDirectory();
    const result = await gate(cwd, ["sh", "-c", "sleep 0.3; echo Killed; exit 137"]);
    expect(result.code).toBe(1);
    expect(result.info.oom).toBeUndefined();
  });

  it("a command that prints an out-of-memory report and exits with 0 warns and does not fail", async () => {
    const cwd = ownDirectory();
    const report = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";
    const result = await gate(cwd, ["sh", "-c", `sleep 0.3; echo '${report}'`]);
    expect(result.code).toBe(0);
    expect(result.verdict).toBe("warn");
    expect(result.info.oom).toMatchObject({ certainty: "suspected" });
    expect(oomOf(result)).toMatchObject([{ classification: "oom_suspected", severity: "warning" }]);
    const words = await gate(ownDirectory(), ["sh", "-c", "sleep 0.3; echo CUDA out of memory"]);
    expect(words.verdict).not.toBe("fail");
    expect(words.info.oom).toBeUndefined();
  });
});

/** A memory cgroup of our own with a limit; null where this machine does not permit one. */
function memoryGroup(limitBytes: number): string | null {
  for (const [root, limit] of [
    ["/sys/fs/cgroup/memory", "memory.limit_in_bytes"],
    ["/sys/fs/cgroup", "memory.max"],
  ] as const) {
    const group = path.join(root, `stormlog-gate-test-${process.pid}`);
    try {
      mkdirSync(group);
    } catch {
      continue;
    }
    try {
      writeFileSync(path.join(group, limit), String(limitBytes));
      return group;
    } catch {
      rmdirSync(group);
    }
  }
  return null;
}

const group = process.platform === "linux" ? memoryGroup(250 * MIB) : null;

async function removeGroup(directory: string): Promise<void> {
  for (let tries = 0; tries < 50; tries++) {
    try {
      rmdirSync(directory);
      return;
    } catch {
      // The group still holds a process that is about to end.
      await sleep(100);
    }
  }
}

describe.skipIf(group === null)("a command that the kernel kills at its memory cgroup's limit", () => {
  const directory = group ?? "";
  afterAll(() => removeGroup(directory));
  const enter = `echo $$ > ${directory}/cgroup.procs`;

  it("a command in a cgroup that it entered itself fails as out of memory", async () => {
    const cwd = ownDirectory();
    writeFileSync(path.join(cwd, "leak.py"), `${GROWING}main()\n`);
    const result = await gate(cwd, ["sh", "-c", `${enter}; exec ${PYTHON} leak.py`]);
    expect(result.code).toBe(4);
    expect(result.info.exit).toEqual({ kind: "signaled", signal: "SIGKILL" });
    await expectLastSecond(result);
    expect(result.info.oom).toMatchObject({ certainty: "established", source: "kernel" });
    expect(oomOf(result)[0]?.description).toMatch(/ran out of memory.*the kernel/);
  });

  it("a command in a cgroup shared with the gate, as in a limited container, fails as out of memory", async () => {
    const cwd = ownDirectory();
    writeFileSync(path.join(cwd, "leak.py"), `${GROWING}main()\n`);
    const args = ["run", "--json", "--baseline", "none", "--attribute", "off", "--", PYTHON, "leak.py"];
    const { status, stdout, stderr } = spawnSync(
      "sh",
      ["-c", `${enter}; exec "$@"`, "sh", process.execPath, CLI, ...args],
      { cwd, encoding: "utf8" },
    );
    expect(status).toBe(4);
    const result = ended(cwd, { code: status, signal: null, stdout, stderr });
    await expectLastSecond(result);
    expect(result.info.oom).toMatchObject({ certainty: "established", source: "kernel" });
    expect(result.info.oom?.time_ns).toBeGreaterThan(0);
  });

  it("a child killed by the kernel is reported as out of memory when its parent fails for it", async () => {
    const cwd = ownDirectory();
    writeFileSync(path.join(cwd, "leak.py"), `${GROWING}main()\n`);
    const parent = `${enter}; ${PYTHON} leak.py; exit 5`;
    const result = await gate(cwd, ["sh", "-c", parent]);
    expect(result.info.exit).toEqual({ kind: "exited", code: 5 });
    // Only the kernel's log names the process; without it the kill is suspected.
    const certain = result.info.oom?.certainty === "established";
    expect(result.info.oom).toMatchObject({ source: "kernel", certainty: certain ? "established" : "suspected" });
    expect(result.code).toBe(certain ? 4 : 1);
  });
});
