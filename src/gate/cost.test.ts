import { describe, expect, it } from "vitest";
import { Cost } from "./cost.ts";

const MINUTE = 60_000;

describe("what a scenario may cost", () => {
  it("always allows the first run", () => {
    expect(new Cost({ maxRuns: 1, maxMinutes: 0.01 }, 0).exhausted(10 * MINUTE)).toBeNull();
  });

  it("ends at the number of runs", () => {
    const cost = new Cost({ maxRuns: 2, maxMinutes: null }, 0);
    cost.add();
    expect(cost.exhausted(MINUTE)).toBeNull();
    cost.add();
    expect(cost.exhausted(MINUTE)).toMatch(/2 runs/);
  });

  it("does not start a run that would not end in time, judged by those before it", () => {
    const cost = new Cost({ maxRuns: 10, maxMinutes: 5 }, 0);
    cost.add();
    expect(cost.exhausted(2 * MINUTE)).toBeNull();
    cost.add();
    expect(cost.exhausted(4 * MINUTE)).toMatch(/5 minutes/);
  });
});
