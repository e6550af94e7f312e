import { describe, expect, it } from "vitest";
import { bound, confirmations, falseAlarmRate, predictiveChance, predictiveConfirmations } from "./confirmation.ts";

describe("confirmation runs", () => {
  it.each([
    [5, 4],
    [10, 3],
    [30, 2],
  ])("over %i clean baseline runs are %i at alpha 0.001", (runs, wanted) => {
    expect(confirmations(falseAlarmRate(0, runs), 0.001, 6)).toBe(wanted);
  });

  it("grow with every baseline run above the threshold, up to the cap", () => {
    expect(confirmations(falseAlarmRate(1, 10), 0.001, 6)).toBe(5);
    expect(confirmations(falseAlarmRate(5, 10), 0.001, 6)).toBe(6);
    expect(confirmations(1, 0.001, 6)).toBe(6);
  });

  it("grow when several checks share alpha", () => {
    expect(confirmations(falseAlarmRate(0, 10), 0.001 / 2, 6)).toBe(4);
  });

  it("reach a bound that is the chance of all of them at once", () => {
    expect(bound(0.1, 3)).toBeCloseTo(0.001);
    expect(bound(1.2, 3)).toBe(1);
  });

  it("predict by the rule of succession", () => {
    expect(predictiveChance(0, 10, 1)).toBeCloseTo(1 / 12);
    expect(predictiveChance(0, 10, 2)).toBeCloseTo((1 / 12) * (2 / 13));
    expect(predictiveConfirmations(0, 13, 0.0002, 6)).toBe(5);
    expect(predictiveConfirmations(9, 10, 0.0002, 6)).toBe(6);
  });
});
