import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { analyze } from "../../src/analysis/analyze.ts";
import { findPrebuild } from "../../src/sampler/prebuild.ts";
import { readRunDirectory } from "../../src/telemetry/read-run-directory.ts";
import { readRecordFile } from "../../src/telemetry/reading/record-file.ts";
import { recordFileToRecording } from "../../src/telemetry/reading/record-recording.ts";
import type { Recording, SampleTable } from "../../src/telemetry/recording/model.ts";
import { writeRunFiles } from "../../src/telemetry/run-directory.ts";
import { RECORDED } from "../probe/testing/probed.ts";
import { type Measured, measured, node, temporaryDirectory } from "./kit.ts";

const PYTHON = "/usr/bin/python3";
const native = !("reason" in findPrebuild());
const hasPython = existsSync(PYTHON);
const hasTorch = hasPython && spawnSync(PYTHON, ["-c", "import torch"]).status === 0;
const hasCompiler = spawnSync("gcc", ["--version"]).status === 0;

const python = (script: string, ...args: string[]): string[] => [PYTHON, "-c", script, ...args];
/** Until the probe has written 60 records, which takes it half a second where it starts and is run at once. */
const LIVE = `${RECORDED}kept = [bytes(200_000) for _ in range(20)]
recorded(60)`;
/** For processes that the probe does not reach. */
const UNREACHED = "import time; kept = [bytes(200_000) for _ in range(20)]; time.sleep(0.6)";

const probeOf = ({ info }: Measured) => info.sources.find(({ name }) => name === "probe");
async function recordingOf({ directory, info }: Measured): Promise<Recording> {
  return recordFileToRecording(await readRecordFile(path.join(directory, "samples.rec")), info);
}
const heapOf = ({ tables }: Recording, rank = 0): SampleTable | undefined =>
  tables.find((table) => table.rank === rank && table.device === "host" && table.columns.allocated !== undefined);

/** A training loop that keeps what it should not, with the truth by the C library's own account around it. */
const LEAKY_LOOP = `
import ctypes, sys, torch
class Info(ctypes.Structure):
    _fields_ = [(n, ctypes.c_size_t) for n in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]
libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Info
def used():
    info = libc.mallinfo2()
    return info.uordblks + info.hblkhd
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
kept = []
for step in range(2400):
    out = net(torch.randn(32, 64))
    loss = torch.nn.functional.cross_entropy(out, torch.randint(0, 10, (32,)))
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    if sys.argv[1] == "leak": kept.append(out.detach().clone())
    if step == 40: before = used()
print((used() - before) / 2359)
`;

describe.skipIf(!hasTorch)("a training loop on the CPU", () => {
  const horizon = { horizon: { kind: "steps", steps: 1_000_000 } } as const;

  it("shows a leak of 1.3 kB a step by its heap, at the rate that the loop measures", async () => {
    const run = await measured(python(LEAKY_LOOP, "leak"));
    const truth = Number(run.stdout);
    expect(probeOf(run)).toMatchObject({
      available: true,
      reason: null,
      capabilities: ["torch", "heap", "python-heap", "steps"],
    });
    expect(run.info.fingerprint).toMatchObject({ backend: "cpu", framework: "torch" });
    expect(run.info.fingerprint.framework_version).toMatch(/^\d+\.\d+$/);
    const heap = analyze(await recordingOf(run), horizon).series.find(({ metric }) => metric === "allocated");
    expect(truth).toBeGreaterThan(1280);
    expect(heap).toMatchObject({ device: "host", class: "leak" });
    expect(Math.abs((heap?.slope_bytes_per_step ?? 0) / truth - 1)).toBeLessThan(0.1);
  });

  it("a training loop without the leak is flat", async () => {
    const series = analyze(await recordingOf(await measured(python(LEAKY_LOOP, "clean"))), horizon).series;
    expect(series.find(({ metric }) => metric === "allocated")?.class).toBe("flat");
  });
});

describe.skipIf(!hasPython)("a Python process under the sampler", () => {
  it("reports its heap and its identity without a framework", async () => {
    const run = await measured(python(LIVE));
    expect(probeOf(run)).toMatchObject({
      available: true,
      reason: "no framework was imported, so only the heap is recorded",
    });
    expect(run.info.probe).toMatchObject({
      processes_total: 1,
      processes: [{ pid: run.info.identity.pid, framework: null, role: "plain" }],
    });
    const heap = heapOf(await recordingOf(run));
    expect(heap?.timeNs?.length).toBeGreaterThan(10);
    expect(Math.max(...(heap?.columns.allocated ?? []))).toBeGreaterThan(4_000_000);
    expect(run.info.peaks.find(({ metric }) => metric === "allocated")?.bytes).toBeGreaterThan(4_000_000);
    expect(run.info.lost.filter((text) => !text.includes("host samples were missed"))).toEqual([]);
  });

  it("a Python process of several ranks is a table for each, with their world size", async () => {
    const ranks = `for r in 0 1 2; do RANK=$r LOCAL_RANK=$r WORLD_SIZE=4 ${PYTHON} -c '${LIVE}' & done; wait`;
    const recording = await recordingOf(await measured(["sh", "-c", ranks]));
    expect([0, 1, 2].map((rank) => (heapOf(recording, rank)?.timeNs?.length ?? 0) > 5)).toEqual([true, true, true]);
    expect(recording.worldSize).toBe(4);
    expect(analyze(recording).ranks).toMatchObject({ world_size: 4, missing_ranks: [3] });
  });

  it("a killed Python process has reported all but its last samples", async () => {
    const run = await measured(python(`${LIVE}\nkilled = head()\nprint(killed, flush=True); os.kill(os.getpid(), 9)`));
    expect(run.info.exit).toEqual({ kind: "signaled", signal: "SIGKILL" });
    const recording = await recordingOf(run);
    const processes = recording.tables.filter(({ columns }) => columns.allocated !== undefined);
    const read = processes.reduce((sum, { timeNs }) => sum + (timeNs?.length ?? 0), 0);
    // Each reading is a record of the C heap and one of Python's own.
    expect(read).toBeGreaterThanOrEqual(Number(run.stdout) / 2 - 2);
  });
});

describe.skipIf(!hasPython)("where the probe cannot run", () => {
  it("the recording states that the interpreter ignores the probe", async () => {
    const run = await measured([PYTHON, "-I", "-c", UNREACHED]);
    expect(probeOf(run)).toMatchObject({ available: false, reason: expect.stringContaining("python -I") });
    expect(heapOf(await recordingOf(run))).toBeUndefined();
    expect(run.info.peaks.map(({ metric }) => metric)).toEqual(["host"]);
  });

  it("the recording reports that the environment may have been cleared", async () => {
    const run = await measured(["env", "-i", PYTHON, "-c", UNREACHED]);
    expect(probeOf(run)).toMatchObject({ available: false, reason: expect.stringContaining("cleaned") });
  });

  it("the recording states that the command is not Python", async () => {
    const run = await measured(node("setTimeout(() => {}, 200)"));
    expect(probeOf(run)).toMatchObject({ available: false, reason: expect.stringContaining("STORMLOG_GATE_HEAP") });
  });
});

describe("a run with --probe off", () => {
  it("leaves nothing in the command's environment or on disk", async () => {
    const show = node("console.log(JSON.stringify(process.env))");
    const env = { PATH: process.env.PATH, PYTHONPATH: "/mine" };
    const off = await measured(show, { probe: "off", env });
    const seen = JSON.parse(off.stdout) as Record<string, string>;
    expect(Object.keys(seen).filter((name) => name.startsWith("STORMLOG_GATE_"))).toEqual(["STORMLOG_GATE_RUN"]);
    expect(seen.PYTHONPATH).toBe("/mine");
    expect(probeOf(off)).toMatchObject({ available: false, reason: expect.stringContaining("--probe off") });
    expect(existsSync(path.join(off.directory, "probe"))).toBe(false);
    expect(off.info.probe).toBeUndefined();
    const on = JSON.parse((await measured(show, { env })).stdout) as Record<string, string>;
    expect(on.PYTHONPATH).toMatch(/inject:\/mine$/);
    expect(on.STORMLOG_GATE_PROBE_DIR).toMatch(/\/run\/1\/probe$/);
  });
});

describe("a program of any language", () => {
  const STEPS = 'i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo $i > "$STORMLOG_GATE_STEP_FILE"; sleep 0.02; done';

  it("reports its steps by writing them into a file", async () => {
    const run = await measured(["sh", "-c", STEPS]);
    const { steps: processes } = await readRecordFile(path.join(run.directory, "samples.rec"));
    expect(processes.map(({ pid, steps }) => [pid, steps.at(-1)])).toEqual([[-1, 40]]);
    const { steps } = (await recordingOf(run)).tables[0]!;
    const known = [...new Set(steps?.filter(Number.isFinite))];
    expect(known.length).toBeGreaterThan(8);
    expect(known).toEqual([...known].sort((a, b) => a - b));
  });

  it.skipIf(!native || !hasCompiler)("reports its heap and its steps when the library is preloaded", async () => {
    const directory = temporaryDirectory();
    const source = path.join(directory, "loop.c");
    writeFileSync(
      source,
      `#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <dlfcn.h>
int main(void) {
  void (*step)(uint64_t) = (void (*)(uint64_t))dlsym(RTLD_DEFAULT, "stormlog_gate_step");
  for (uint64_t i = 1; i <= 150; ++i) {
    char *kept = malloc(3000);
    memset(kept, 1, 3000);
    if (step) step(i);
    usleep(3000);
  }
  return step ? 0 : 1;
}
`,
    );
    const program = path.join(directory, "loop");
    execFileSync("gcc", ["-O1", "-o", program, source, "-ldl"]);
    const run = await measured([program], { extraEnv: { STORMLOG_GATE_HEAP: "preload" } });
    expect(run.info.exit).toEqual({ kind: "exited", code: 0 });
    expect(probeOf(run)).toMatchObject({ available: true, capabilities: ["heap", "steps"] });
    const recording = await recordingOf(run);
    expect(heapOf(recording)?.atStep?.reduce((sum, mark) => sum + mark, 0)).toBeGreaterThan(140);
    const { series } = analyze(recording, { horizon: { kind: "steps", steps: 1_000_000 } });
    const heap = series.find(({ metric }) => metric === "allocated");
    expect(heap?.class).toBe("leak");
    expect(heap?.slope_bytes_per_step).toBeCloseTo(3008, -2);
    // Without it, the program cannot call what is not there, and runs all the same.
    expect((await measured([program])).info.exit).toEqual({ kind: "exited", code: 1 });
  });

  it.skipIf(!native)("a program runs as without the library when it is preloaded", async () => {
    // Until each of its rings has 20 records.
    const script = `console.log(process.env.LD_PRELOAD);
const { readdirSync, readFileSync } = require("fs");
const directory = process.env.STORMLOG_GATE_PROBE_DIR;
function look() {
  const rings = readdirSync(directory).filter((name) => name.startsWith(process.pid + ".") && name.endsWith(".probe"));
  const heads = rings.map((name) => readFileSync(directory + "/" + name).readUInt32LE(24));
  if (heads.length === 0 || Math.min(...heads) < 20) setTimeout(look, 20);
}
look();`;
    const run = await measured(node(script), {
      extraEnv: { STORMLOG_GATE_HEAP: "preload" },
    });
    expect(run.stdout).toMatch(/libstormlog_heap\.so\n$/);
    expect(run.info.exit).toEqual({ kind: "exited", code: 0 });
    expect(run.info.probe?.processes.map(({ pid }) => pid)).toEqual([run.info.identity.pid]);
    expect(heapOf(await recordingOf(run))?.timeNs?.length).toBeGreaterThan(5);
  });
});

describe.skipIf(!hasPython)("what is left of a run", () => {
  it("holds every sample of the probe in Parquet; its own files go, those of others stay", async () => {
    const keep = `${LIVE}\nopen(os.environ["STORMLOG_GATE_PROBE_DIR"] + "/1.0.lines.0.json", "w").write("{}")`;
    const run = await measured(python(keep));
    const before = await recordingOf(run);
    await writeRunFiles(run.directory, before);
    const { recording } = await readRunDirectory(run.directory);
    expect(recording.tables).toEqual(before.tables);
    expect(recording.peaks).toEqual(before.peaks);
    expect(recording.info?.probe).toEqual(run.info.probe);
    const left = readdirSync(path.join(run.directory, "probe"));
    expect(left.filter((name) => name.endsWith(".probe"))).toEqual([]);
    expect(left).toContain("1.0.lines.0.json");
    expect(existsSync(path.join(run.directory, "samples.rec"))).toBe(false);
  });
});
