import { execFileSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { PYTHON } from "../probe/testing/pythons.ts";

const PROBE = path.join(packageRoot(), "probe", "inject");

/** A program of 5-ms steps whose moments take three intervals each; prints at which steps they were taken. */
const SLOW_MOMENTS = `
import sys, time
sys.path.insert(0, sys.argv[1])
from _stormlog_probe.attribute.schedule import Schedule
steps, at = 0, []
def take(moment, in_program):
    at.append(steps)
    time.sleep(0.3)
schedule = Schedule("seconds", [0.1, 0.2, 0.3, 0.4], lambda: None, take)
schedule.start()
while not schedule.over:
    time.sleep(0.005)
    steps += 1
    schedule.at_step(steps)
print(*at)
`;

describe.skipIf(PYTHON === null)("moments that take longer than the time between them", () => {
  it("leave the program steps in between", () => {
    const printed = execFileSync(PYTHON?.executable ?? "", ["-c", SLOW_MOMENTS, PROBE], { encoding: "utf8" });
    const at = printed.trim().split(" ").map(Number);
    expect(at.length).toBeGreaterThanOrEqual(3);
    // Half of an interval is ten steps; without it there is one between two moments.
    expect((at.at(-1) ?? 0) - (at[0] ?? 0)).toBeGreaterThan(3 * (at.length - 1));
  });
});
