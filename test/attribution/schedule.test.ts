import { execFileSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { PYTHON } from "../probe/testing/pythons.ts";
import { attributed } from "./testing/attributed.ts";

const PROBE = path.join(packageRoot(), "probe", "inject");

/** A program of 5-ms steps whose moments take three intervals each; prints at which steps they were taken. */
const SLOW_MOMENTS = `
import sys, time
sys.path.insert(0, sys.argv[1])
from _stormlog_probe.attribute.schedule import Schedule
steps, at = 0, []
def take(moment, in_program):
    at.append(steps)
    time.sleep(1.2)
schedule = Schedule("seconds", [0.4, 0.8, 1.2, 1.6], lambda: None, take)
schedule.start()
while not schedule.over:
    time.sleep(0.005)
    steps += 1
    schedule.at_step(steps)
print(*at)
`;

describe.skipIf(PYTHON === null)("moments that take longer than the time between them", () => {
  it("snapshots that take longer than the time between them leave the program steps in between", () => {
    const printed = execFileSync(PYTHON?.executable ?? "", ["-c", SLOW_MOMENTS, PROBE], { encoding: "utf8" });
    const at = printed.trim().split(" ").map(Number);
    expect(at.length).toBeGreaterThanOrEqual(3);
    // Half of an interval is forty steps, a fifth of it on a busy machine; without it there is one between two moments.
    expect((at.at(-1) ?? 0) - (at[0] ?? 0)).toBeGreaterThan(3 * (at.length - 1));
  });
});

/** A program that imports PyTorch for a second; prints how long after it each moment was taken. */
const LONG_IMPORT = `
import sys, time, types
from importlib.machinery import ModuleSpec
sys.path.insert(0, sys.argv[1])
from _stormlog_probe.attribute.schedule import Schedule
torch = sys.modules["torch"] = types.ModuleType("torch")
torch.__spec__ = ModuleSpec("torch", None)
torch.__spec__._initializing = True
at = []
schedule = Schedule("seconds", [0.2, 0.4, 0.6], lambda: None, lambda *_: at.append(time.monotonic()))
schedule.start()
time.sleep(1)
imported = time.monotonic()
torch.__spec__._initializing = False
while not schedule.over or schedule.taken < 3:
    time.sleep(0.005)
print(*(one - imported for one in at))
`;

describe.skipIf(PYTHON === null)("moments that fall into the import of a framework", () => {
  it("snapshots that fall into the import of a framework are taken as long after it", () => {
    const printed = execFileSync(PYTHON?.executable ?? "", ["-c", LONG_IMPORT, PROBE], { encoding: "utf8" });
    const at = printed.trim().split(" ").map(Number);
    expect(at).toHaveLength(3);
    for (const [moment, after] of at.entries()) expect(after).toBeGreaterThan(0.15 + 0.2 * moment);
  });
});

const FIRST_STEPS = [10, 1010, 2010, 3010, 4010];

/** Reports its steps in the step file; keeps a mebibyte for each snapshot and waits for it. */
const STEP_FILE = `
import glob, os, time
kept = []
for moment, step in enumerate([${FIRST_STEPS}]):
    kept.append(bytearray(1 << 20))
    while not glob.glob("probe/*.lines.%d.tracemalloc.json" % moment):
        step += 1
        with open(os.environ["STORMLOG_GATE_STEP_FILE"], "w") as file:
            file.write(str(step))
        time.sleep(0.01)
`;

describe.skipIf(PYTHON === null)("a Python program that reports its steps in the step file", () => {
  it("writes its live memory at the steps of the schedule", async () => {
    const ran = await attributed([PYTHON?.executable ?? "", "-c", STEP_FILE], { kind: "steps", at: FIRST_STEPS });
    expect(ran.code, ran.stderr).toBe(0);
    const samples = ran.processes[0]?.moments.map(({ sample }) => sample) ?? [];
    expect(samples.map(({ step }) => Math.floor((step ?? 0) / 1000))).toEqual([0, 1, 2, 3, 4]);
    const totals = samples.map(({ totalBytes }) => totalBytes / 2 ** 20);
    expect(totals.slice(1).map((total, index) => Math.round(total - (totals[index] ?? 0)))).toEqual([1, 1, 1, 1]);
  });
});
