import { describe, expect, it } from "vitest";
import { Cost, cancelled, OUT_OF_TIME, outOfTime } from "./cost.ts";

const MINUTE = 60_000;

describe("the cost limits of a scenario", () => {
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

  it("does not start a run that would exceed the minutes", () => {
    const cost = new Cost({ maxRuns: 10, maxMinutes: 5 }, 0);
    cost.add();
    expect(cost.exhausted(2 * MINUTE)).toBeNull();
    cost.add();
    expect(cost.exhausted(4 * MINUTE)).toMatch(/5 minutes/);
  });

  it("gives every run but the first the remaining minutes", () => {
    const cost = new Cost({ maxRuns: 10, maxMinutes: 5 }, 0);
    expect(cost.remainingS(MINUTE)).toBeNull();
    cost.add();
    expect(cost.remainingS(2 * MINUTE)).toBe(180);
    expect(cost.remainingS(9 * MINUTE)).toBe(1);
    const free = new Cost({ maxRuns: 10, maxMinutes: null }, 0);
    free.add();
    expect(free.remainingS(MINUTE)).toBeNull();
  });
});

describe("an abort", () => {
  const ended = (reason: string): AbortSignal => AbortSignal.abort(reason);

  it("is a cancellation, unless the time was over", () => {
    expect([cancelled(ended("SIGINT")), outOfTime(ended("SIGINT"))]).toEqual([true, false]);
    expect([cancelled(ended(OUT_OF_TIME)), outOfTime(ended(OUT_OF_TIME))]).toEqual([false, true]);
    const { signal } = new AbortController();
    expect([cancelled(signal), outOfTime(signal)]).toEqual([false, false]);
  });
});
