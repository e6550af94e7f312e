import { describe, expect, it } from "vitest";
import { confirmations, falseAlarmProbability, falseAlarmRate, separationProbability } from "./confirmation.ts";

const wantedAt = (rate: number, alpha: number, misses = 0) =>
  confirmations((runs) => falseAlarmProbability(rate, runs, misses), alpha, 6, misses);

describe("the number of confirmation runs", () => {
  it.each([
    [5, 4],
    [10, 3],
    [30, 2],
  ])("the number of confirmation runs for %i clean baseline runs is %i at alpha 0.001", (runs, wanted) => {
    expect(wantedAt(falseAlarmRate(0, runs), 0.001)).toBe(wanted);
  });

  it("the number of confirmation runs grows with every baseline run above the threshold, up to the maximum", () => {
    expect(wantedAt(falseAlarmRate(1, 10), 0.001)).toBe(5);
    expect(wantedAt(falseAlarmRate(5, 10), 0.001)).toBe(6);
    expect(wantedAt(1, 0.001)).toBe(6);
  });

  it("the number of confirmation runs grows when several checks share alpha", () => {
    expect(wantedAt(falseAlarmRate(0, 10), 0.001 / 2)).toBe(4);
  });

  it("the false alarm probability is that of all runs at once", () => {
    expect(falseAlarmProbability(0.1, 3)).toBeCloseTo(0.001);
    expect(falseAlarmProbability(1, 3)).toBe(1);
  });

  it("a run that does not leak costs two more runs, and a second one is too much", () => {
    expect(falseAlarmProbability(0.1, 3, 1)).toBeCloseTo(0.001 + 3 * 0.01 * 0.9);
    expect(falseAlarmProbability(0.3, 4, 4)).toBeCloseTo(1);
    const rate = falseAlarmRate(0, 10);
    expect([0, 1].map((misses) => wantedAt(rate, 0.001, misses))).toEqual([3, 5]);
    expect(falseAlarmProbability(rate, 6, 2)).toBeGreaterThan(0.0005);
  });

  it("the test of exceedances with one run more follows the rule of succession", () => {
    expect(separationProbability(0, 11, 1)).toBeCloseTo(1 / 12);
    expect(separationProbability(0, 11, 2)).toBeCloseTo((1 / 12) * (2 / 13));
    expect(confirmations((runs) => separationProbability(0, 14, runs), 0.0002, 6)).toBe(5);
    expect(confirmations((runs) => separationProbability(9, 11, runs), 0.0002, 6)).toBe(6);
  });
});
