import { describe, expect, it } from "vitest";
import { MIB } from "../../core/units.ts";
import { sampleCheck, sampleJudgement } from "../../report/testing/sample-report.ts";
import { announce, breachText, Cost, cancelled, OUT_OF_TIME, outOfTime } from "./cost.ts";

const MINUTE = 60_000;

describe("the cost limits of a scenario", () => {
  it("the cost limits always allow the first run", () => {
    expect(new Cost({ maxRuns: 1, maxMinutes: 0.01 }, 0).exhausted(10 * MINUTE)).toBeNull();
  });

  it("the cost limits end at the number of runs", () => {
    const cost = new Cost({ maxRuns: 2, maxMinutes: null }, 0);
    cost.add();
    expect(cost.exhausted(MINUTE)).toBeNull();
    cost.add();
    expect(cost.exhausted(MINUTE)).toMatch(/2 runs/);
    expect(cost.exhausted(MINUTE, true)).toBeNull();
  });

  it("the cost limits allow no run that would exceed the minutes", () => {
    const cost = new Cost({ maxRuns: 10, maxMinutes: 5 }, 0);
    cost.add();
    cost.took(120);
    expect(cost.exhausted(2 * MINUTE)).toBeNull();
    cost.add();
    // The longest run decides, not the average.
    cost.took(10);
    expect(cost.exhausted(2.9 * MINUTE)).toBeNull();
    expect(cost.exhausted(3.1 * MINUTE)).toMatch(/5 minutes/);
    expect(cost.exhausted(3.1 * MINUTE, true)).toMatch(/5 minutes/);
  });

  it("the cost limits give every run but the first the remaining minutes", () => {
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

  it("an abort is a cancellation, unless the time was over", () => {
    expect([cancelled(ended("SIGINT")), outOfTime(ended("SIGINT"))]).toEqual([true, false]);
    expect([cancelled(ended(OUT_OF_TIME)), outOfTime(ended(OUT_OF_TIME))]).toEqual([false, true]);
    const { signal } = new AbortController();
    expect([cancelled(signal), outOfTime(signal)]).toEqual([false, false]);
  });
});

describe("the cost of a confirmation", () => {
  const cost = (maxRuns: number, maxMinutes: number | null = null) => {
    const made = new Cost({ maxRuns, maxMinutes }, 0);
    made.add();
    made.took(2.6);
    return made;
  };

  it("the forecast of a confirmation is at most all runs of the rule, each as long as the longest so far", () => {
    expect(cost(10).forecast(1, 6, 0)).toBe("run 2 of at most 6, at most 13 s");
  });

  it("the forecast of a confirmation is limited by the runs and the minutes that are left", () => {
    expect(cost(3).forecast(1, 6, 0)).toBe("run 2 of at most 3, at most 6 s");
    expect(cost(10, 0.1).forecast(1, 6, 2000)).toBe("run 2 of at most 6, at most 5 s");
  });

  it("breachText names the breach with its value and its limit", () => {
    const check = sampleCheck({
      aspect: "peak",
      gating: true,
      verdict: "fail",
      metric: "allocated",
      candidate_bytes: 37 * MIB,
      threshold_bytes: 12 * MIB,
    });
    const judgement = sampleJudgement("fail", { checks: [check] });
    expect(breachText(judgement)).toBe("allocated peak 37.00 MiB is over the limit of 12.00 MiB");
    expect(breachText(sampleJudgement("pass", { checks: [{ ...check, verdict: "pass" }] }))).toBeNull();
  });

  it("announce writes a line to a log, or a status where there is a terminal", () => {
    const lines: string[] = [];
    const shown: (string | null)[] = [];
    const log = (line: string) => lines.push(line);
    announce({ log, progress: null }, "train: confirming");
    announce({ log, progress: (text) => shown.push(text) }, "train: comparing");
    expect([lines, shown]).toEqual([["train: confirming"], ["train: comparing"]]);
  });
});
