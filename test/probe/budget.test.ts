import { execFileSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { PYTHON } from "./testing/pythons.ts";

const PROBE = path.join(packageRoot(), "probe", "inject");

/**
 * Readings within 3 s of steps, when each costs so many microseconds in turn and the last of them from then on; behind
 * it, the share of ten minutes that all readings take.
 */
const COUNTED = `
import sys
sys.path.insert(0, sys.argv[1])
from _stormlog_probe.budget import Budget
budget = Budget(0.002)
budget.first_step(10**12)
costs = [1000 * int(cost) for cost in sys.argv[2:]]
now, spent, early = 10**12, 0, 0
while now < 10**12 + 600 * 10**9:
    cost = costs.pop(0) if len(costs) > 1 else costs[0]
    budget.spend(cost, now + cost)
    spent += cost
    early += now < 10**12 + 3 * 10**9
    now = max(now + cost, int(budget.next))
print(early, spent / (600 * 10**9))
`;

function counted(...costs: readonly number[]): readonly number[] {
  const printed = execFileSync(PYTHON?.executable ?? "", ["-c", COUNTED, PROBE, ...costs.map(String)], {
    encoding: "utf8",
  });
  return printed.trim().split(" ").map(Number);
}

/**
 * The longest time between two readings, of which the first and the others cost so many microseconds, as a share of a
 * run that ends just after it. Each "step" of 12 ms may be read, or each "tick" of 10 ms.
 */
const LONGEST = `
import sys
sys.path.insert(0, sys.argv[1])
from _stormlog_probe.budget import Budget
budget = Budget()
steps = sys.argv[2] == "step"
if steps: budget.first_step(1)
now, longest, readings = 1, 0, 0
while now < 20 * 10**9:
    cost = 1000 * int(sys.argv[3 if readings < 60 else 4])
    budget.spend(cost, now + cost, steps)
    readings += 1
    later = max(now + cost + (12_000_000 if steps else 10_000_000), int(budget.next if steps else budget.next_modest))
    if now > 500_000_000: longest = max(longest, (later - now) / later)
    now = later
print(longest)
`;

function longestGap(...args: readonly (string | number)[]): number {
  const argv = ["-c", LONGEST, PROBE, ...args.map(String)];
  return Number(execFileSync(PYTHON?.executable ?? "", argv, { encoding: "utf8" }));
}

/** Of the steps of ten seconds, which take 130 ms each, those that may be read beside a timer of 20 ms. */
const BESIDE_TIMER = `
import sys
sys.path.insert(0, sys.argv[1])
from _stormlog_probe.budget import Budget
budget = Budget(0.003)
budget.first_step(10**12)
step, read, now = 10**12, 0, 10**12
for tick in range(500):
    now += 20_000_000
    while step <= now:
        if step >= budget.next:
            budget.spend(20_000, step)
            read += 1
        step += 130_000_000
    if now >= budget.next_modest:
        budget.spend(20_000, now, False)
print(read, (step - 10**12) // 130_000_000)
`;

describe.skipIf(PYTHON === null)("the budget of the probe's readings", () => {
  it("leaves a run of three seconds enough readings when the machine is slow for a moment", () => {
    const usual = Array.from({ length: 10 }, () => 100);
    const [early, share] = counted(...usual, 2200, 4000, 5400, 100);
    expect(early).toBeGreaterThanOrEqual(48);
    expect(share).toBeLessThanOrEqual(0.002);
  });

  it("leaves a run of three seconds enough readings where one of ten is slow, the first as well", () => {
    const [early] = counted(...Array.from({ length: 60 }, (_, i) => (i % 10 === 0 ? 15_000 : 100)));
    expect(early).toBeGreaterThanOrEqual(48);
  });

  it.each([100, 300, 1000])("leaves no gap in a run where a reading costs %i us", (cost) => {
    expect(longestGap("tick", cost, cost)).toBeLessThan(0.2);
  });

  it.each([1000, 1500])("leaves no gap among steps whose readings cost %i us after cheap ones", (cost) => {
    expect(longestGap("step", 100, cost)).toBeLessThan(0.2);
  });

  it("reads every long step, whatever the timer read just before", () => {
    const printed = execFileSync(PYTHON?.executable ?? "", ["-c", BESIDE_TIMER, PROBE], { encoding: "utf8" });
    const [read, steps] = printed.trim().split(" ").map(Number);
    expect(read).toBe(steps);
  });

  it("spends its share in the long run, whatever a reading costs", () => {
    for (const cost of [50, 1000, 20_000]) {
      const [, share] = counted(cost);
      expect(share).toBeLessThanOrEqual(0.0022);
    }
  });
});
