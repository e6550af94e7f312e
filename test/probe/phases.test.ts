import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { analyze } from "../../src/analysis/analyze.ts";
import { phasesMemory } from "../../src/analysis/growth/phases.ts";
import { parseProbeInfo } from "../../src/telemetry/reading/probe-info.ts";
import type { ReportedPhases } from "../../src/telemetry/reading/probe-phases.ts";
import { readRecordFile } from "../../src/telemetry/reading/record-file.ts";
import { recordFileToRecording } from "../../src/telemetry/reading/record-recording.ts";
import { readRecordingInfo } from "../../src/telemetry/recording/run-info.ts";
import { writeRunFiles } from "../../src/telemetry/run-directory.ts";
import { measured } from "../measure/kit.ts";
import {
  CHEAP,
  CUDA,
  type Ended,
  HEAP,
  only,
  probedScript,
  RECORDED,
  readSoFar,
  recordsOf,
  STAND_INS,
} from "./testing/probed.ts";
import { PYTHON, PYTHONS, versionOf } from "./testing/pythons.ts";

const SET_UP = `import os, sys, threading, time
from stormlog_gate import phase
clock = time.monotonic_ns
`;

/** The phases that the file of the process left, read as the gate reads them. */
function phasesIn(ended: Ended): ReportedPhases {
  return parseProbeInfo(readFileSync(path.join(ended.directory, `${only(ended).name}.info`), "utf8"))!.phases;
}

async function phasesOf(script: string): Promise<ReportedPhases> {
  const ended = await probedScript(PYTHON!, SET_UP + script);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(only(ended).info.get("error")).toBeUndefined();
  return phasesIn(ended);
}

const names = ({ phases }: ReportedPhases): readonly string[] => phases.map(({ name }) => name);

describe.each(PYTHONS.map((python) => [versionOf(python), python] as const))("phases with Python %s", (_, python) => {
  it("phases are reported with their times, nested and in the order of their starts", async () => {
    const ended = await probedScript(
      python,
      `${SET_UP}moments = [clock()]
with phase("outer") as name:
    moments.append(clock())
    with phase("inner"):
        moments.append(clock())
    moments.append(clock())
moments.append(clock())
print(name, *moments)
`,
    );
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    const [name, ...moments] = ended.stdout.trim().split(" ");
    const { phases, dropped } = phasesIn(ended);
    expect([name, phases.map((phase) => phase.name), dropped]).toEqual(["outer", ["outer", "inner"], 0]);
    const [outer, inner] = phases;
    const order = [0, outer!.began, 1, inner!.began, 2, inner!.ended!, 3, outer!.ended!, 4].map((moment) =>
      typeof moment === "bigint" ? moment : BigInt(moments[moment]!),
    );
    expect(order).toEqual([...order].sort((a, b) => (a < b ? -1 : 1)));
  });
});

describe.skipIf(PYTHON === null)("phases", () => {
  it("phases are kept up to 256, and later ones are counted", async () => {
    const { phases, dropped } = await phasesOf(`for n in range(1000):\n  with phase("epoch %d" % n): pass`);
    expect([phases.length, dropped]).toEqual([256, 744]);
    expect(phases.every(({ name, ended }, n) => name === `epoch ${n}` && ended !== null)).toBe(true);
  });

  it("phases may be entered by many threads at once", async () => {
    const seen = await phasesOf(`def work(k):
  for n in range(25):
    with phase("thread %d" % k): time.sleep(0.0001)
threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for one in threads: one.start()
for one in threads: one.join()`);
    expect(seen.dropped).toBe(0);
    for (let k = 0; k < 8; k++) expect(names(seen).filter((name) => name === `thread ${k}`)).toHaveLength(25);
    expect(seen.phases.every(({ ended }) => ended !== null)).toBe(true);
  });

  it("phases may be one object that is entered again, also within itself", async () => {
    const { phases } = await phasesOf(
      `again = phase("again")\nwith again:\n  with again: time.sleep(0.001)\nwith again: pass`,
    );
    expect(phases).toHaveLength(3);
    const [outer, inner, next] = phases;
    expect(inner!.ended! < outer!.ended! && outer!.ended! < next!.began).toBe(true);
  });

  it("phases have any text as a name, shortened and on one line", async () => {
    const script = `class Odd:
  def __str__(self): raise ValueError
for name in ("two\\nlines\\tand more", "\\x1b[31mred\\x00", "x" * 10000000, "100 % %41 a=b", "e\\u0301poque \\U0001f600", "\\udc80", "", 7, None, Odd()):
  with phase(name): pass`;
    expect(names(await phasesOfOdd(script))).toEqual([
      "two lines and more",
      "[31mred",
      "x".repeat(80),
      "100 % %41 a=b",
      "e\u0301poque \u{1f600}",
      "(unnamed)",
      "(unnamed)",
      "7",
      "None",
    ]);
  });

  it("phases do not catch errors of the program", async () => {
    const ended = await probedScript(
      PYTHON!,
      `${SET_UP}try:\n  with phase("failing"): raise KeyError("theirs")\nexcept KeyError as error: print(error)`,
    );
    expect(ended).toMatchObject({ code: 0, stderr: "", stdout: "'theirs'\n" });
    expect(phasesIn(ended).phases).toMatchObject([{ name: "failing", ended: expect.any(BigInt) }]);
  });

  it("phases have no end where the program was killed within", async () => {
    const ended = await probedScript(
      PYTHON!,
      `${SET_UP}with phase("before"): time.sleep(0.05)\nwith phase("within"): time.sleep(60)`,
      {
        during: async (child, directory) => {
          while (
            !readSoFar(directory).some(({ info }) => [...info.values()].some((value) => value.endsWith(" within")))
          )
            await new Promise((resolve) => setTimeout(resolve, 10));
          child.kill("SIGKILL");
        },
      },
    );
    expect(ended).toMatchObject({ signal: "SIGKILL", stderr: "" });
    expect(phasesIn(ended).phases).toMatchObject([
      { name: "before", ended: expect.any(BigInt) },
      { name: "within", ended: null },
    ]);
  });

  it("phases continue in the parent when it forks within one, and do not belong to the child", async () => {
    const ended = await probedScript(
      PYTHON!,
      `${SET_UP}with phase("parent"):
  pid = os.fork()
  if pid == 0:
    with phase("child"): time.sleep(0.15)
  else:
    os.waitpid(pid, 0)
    print(clock())`,
    );
    expect(ended.code).toBe(0);
    const all = ended.left.map(
      ({ name }) => parseProbeInfo(readFileSync(path.join(ended.directory, `${name}.info`), "utf8"))!,
    );
    const [parent, child] = all.sort((a, b) => Number(a.phases.phases[0]!.began - b.phases.phases[0]!.began));
    expect(all).toHaveLength(2);
    expect(names(child!.phases)).toEqual(["child"]);
    expect(names(parent!.phases)).toEqual(["parent"]);
    expect(parent!.phases.phases[0]!.ended! > BigInt(ended.stdout.trim())).toBe(true);
  });

  it("phases have a reading of the heap at both ends, which gives their growth", async () => {
    const ended = await probedScript(
      PYTHON!,
      `${SET_UP}${RECORDED}recorded(3)
${CHEAP}kept = []
for n in range(20):
  with phase("growing"): kept.append(bytearray(100000))
  time.sleep(0.005)`,
    );
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    const readings = recordsOf(only(ended), HEAP);
    const growths = phasesIn(ended).phases.map(({ began, ended: end }) => {
      const within = readings.filter(({ monotonicNs }) => monotonicNs >= began && monotonicNs <= end!);
      return within.length < 2 ? null : within.at(-1)!.values[0]! - within[0]!.values[0]!;
    });
    const known = growths.filter((growth) => growth !== null);
    // The probe's own thread may be reading just then.
    expect(known.length).toBeGreaterThanOrEqual(15);
    for (const growth of known) expect(growth).toBeGreaterThanOrEqual(100_000);
  });

  it("phases have a reading of the devices in use at both ends", async () => {
    const ended = await probedScript(
      PYTHON!,
      `${SET_UP}${CHEAP}import torch
torch.cuda.init()
torch._C.allocate(0, 1 << 20)
time.sleep(0.5)
for n in range(10):
  with phase("growing"): torch._C.allocate(0, 3 << 20)
  time.sleep(0.005)`,
      { pythonPath: [path.join(STAND_INS, "torch-cuda")] },
    );
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    const readings = recordsOf(only(ended), CUDA);
    const growths = phasesIn(ended).phases.flatMap(({ began, ended: end }) => {
      const within = readings.filter(({ monotonicNs }) => monotonicNs >= began && monotonicNs <= end!);
      return within.length < 2 ? [] : [within.at(-1)!.values[0]! - within[0]!.values[0]!];
    });
    expect(growths.length).toBeGreaterThanOrEqual(7);
    expect(new Set(growths)).toEqual(new Set([3 << 20]));
  });

  it("phases are reported at once where the probe has no thread", async () => {
    const ended = await probedScript(PYTHON!, `${SET_UP}with phase("only"): os._exit(0)`, {
      env: { STORMLOG_GATE_PROBE_MS: "0" },
    });
    expect(phasesIn(ended).phases).toMatchObject([{ name: "only", ended: null }]);
  });

  it("phases do nothing where the gate's directory is on the path without a gate", async () => {
    const script = "from stormlog_gate import phase\nwith phase('x') as name: print(name)";
    const ended = await probedScript(PYTHON!, script, { flags: ["-S"] });
    expect(ended).toMatchObject({ code: 0, stdout: "x\n", stderr: "", left: [] });
  });

  it("phases have a documented stand-in without the gate", async () => {
    const script = `import sys
sys.path[:] = [entry for entry in sys.path if "inject" not in entry]
try:
    from stormlog_gate import phase
except ImportError:
    from contextlib import nullcontext as phase
with phase("x") as name: print(name, phase.__name__)`;
    expect(await probedScript(PYTHON!, script)).toMatchObject({ code: 0, stdout: "x nullcontext\n", stderr: "" });
  });
});

/** The same where one of the names cannot be had, which the probe reports. */
async function phasesOfOdd(script: string): Promise<ReportedPhases> {
  const ended = await probedScript(PYTHON!, SET_UP + script);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(only(ended).info.get("error")).toBe("ValueError: ");
  return phasesIn(ended);
}

describe.skipIf(PYTHON === null)("phases of a measured run", () => {
  const KEEPING = `${SET_UP}${CHEAP}kept = []
with phase("warm-up"): time.sleep(0.2)
for _ in range(12):
  with phase("train"): work = bytearray(8_000_000); time.sleep(0.02); del work
  with phase("validation"): kept.append(bytearray(2_000_000)); time.sleep(0.02)
`;

  it("a measured run has its phases in the recording, with their memory equal to the heap's to the byte", async () => {
    const { info, directory } = await measured([PYTHON!.executable, "-c", KEEPING]);
    const recording = recordFileToRecording(await readRecordFile(path.join(directory, "samples.rec")), info);
    await writeRunFiles(directory, recording);
    const [process] = readRecordingInfo(directory).probe!.processes;
    const duration = info.clock.duration_s! * 1e9;
    expect(process!.phases).toHaveLength(25);
    for (const { began_ns: began, ended_ns: ended } of process!.phases!) {
      expect(began > 0 && began < ended! && ended! < duration).toBe(true);
    }
    const { metric, device, phases } = phasesMemory(recording)!;
    expect([metric, device]).toEqual(["allocated", "host"]);
    expect(phases).toMatchObject([
      { name: "warm-up", entered: 1 },
      { name: "train", entered: 12 },
      { name: "validation", entered: 12 },
    ]);
    const [warmUp, train, validation] = phases;
    expect(warmUp!.seconds).toBeGreaterThanOrEqual(0.2);
    // Kept memory stays. Temporary memory shows in the peak and is not growth.
    const level = warmUp!.highest_bytes!;
    expect(train!.highest_bytes! - level).toBeGreaterThanOrEqual(8_000_000);
    expect(Math.abs(train!.growth_bytes!)).toBeLessThan(100_000);
    expect(Math.abs(validation!.growth_bytes! - 2_000_000)).toBeLessThan(100_000);
    const growth = analyze(recording).findings.filter(({ classification }) => classification === "phase_growth");
    expect(growth).toMatchObject([
      { device: "host", metric: "allocated", evidence: { phase: "validation", kind: "kept", occurrences: 12 } },
    ]);
    expect(growth[0]!.description).toContain("train did not");
  });

  it("a run killed within a phase has that phase without an end, as long as the process", async () => {
    const script = `${SET_UP}with phase("last"): time.sleep(0.4); os.kill(os.getpid(), 9)`;
    const { info, directory } = await measured([PYTHON!.executable, "-c", script]);
    expect(info.exit).toEqual({ kind: "signaled", signal: "SIGKILL" });
    const recording = recordFileToRecording(await readRecordFile(path.join(directory, "samples.rec")), info);
    const [last] = phasesMemory(recording)!.phases;
    expect(last).toMatchObject({ name: "last", entered: 1, unended: 1, growth_bytes: null });
    expect(last!.highest_bytes).toBeGreaterThan(0);
    expect(last!.seconds! >= 0.4 && last!.seconds! < info.clock.duration_s!).toBe(true);
  });
});
