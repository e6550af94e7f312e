import { describe, expect, it } from "vitest";
import {
  confirmations,
  falseAlarmProbability,
  falseAlarmRate,
  predictiveConfirmations,
  predictiveProbability,
} from "./confirmation.ts";

describe("the number of confirmation runs", () => {
  it.each([
    [5, 4],
    [10, 3],
    [30, 2],
  ])("the number of confirmation runs for %i clean baseline runs is %i at alpha 0.001", (runs, wanted) => {
    expect(confirmations(falseAlarmRate(0, runs), 0.001, 6)).toBe(wanted);
  });

  it("the number of confirmation runs grows with every baseline run above the threshold, up to the maximum", () => {
    expect(confirmations(falseAlarmRate(1, 10), 0.001, 6)).toBe(5);
    expect(confirmations(falseAlarmRate(5, 10), 0.001, 6)).toBe(6);
    expect(confirmations(1, 0.001, 6)).toBe(6);
  });

  it("the number of confirmation runs grows when several checks share alpha", () => {
    expect(confirmations(falseAlarmRate(0, 10), 0.001 / 2, 6)).toBe(4);
  });

  it("the false alarm probability is that of all runs at once", () => {
    expect(falseAlarmProbability(0.1, 3)).toBeCloseTo(0.001);
    expect(falseAlarmProbability(1.2, 3)).toBe(1);
  });

  it("the predictive probability follows the rule of succession", () => {
    expect(predictiveProbability(0, 10, 1)).toBeCloseTo(1 / 12);
    expect(predictiveProbability(0, 10, 2)).toBeCloseTo((1 / 12) * (2 / 13));
    expect(predictiveConfirmations(0, 13, 0.0002, 6)).toBe(5);
    expect(predictiveConfirmations(9, 10, 0.0002, 6)).toBe(6);
  });
});
