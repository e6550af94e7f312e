import { describe, expect, it } from "vitest";
import { median, quantile, rateAtMost, ratioInterval, t975 } from "../bench/gpu/statistics.ts";

describe("statistics without a package", () => {
  it("finds Student's quantiles as tables have them", () => {
    for (const [freedom, t] of [
      [1, 12.7062],
      [2, 4.3027],
      [5, 2.5706],
      [9, 2.2622],
      [30, 2.0423],
      [200, 1.9719],
    ] as const)
      expect(t975(freedom)).toBeCloseTo(t, 3);
  });

  it("takes quantiles between samples", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(quantile([0, 10], 0.9)).toBeCloseTo(9);
    expect(() => median([])).toThrow();
  });

  it("a ratio has no interval from two samples and a symmetric one on the logarithm from more", () => {
    expect(ratioInterval([1, 1.1])).toMatchObject({ low: null, high: null, n: 2 });
    const { ratio, low, high } = ratioInterval([0.9, 1, 1.1, 1.05]);
    expect(Math.log(high!) - Math.log(ratio)).toBeCloseTo(Math.log(ratio) - Math.log(low!));
    expect(low!).toBeLessThan(1);
    expect(high!).toBeGreaterThan(1);
  });

  it("a rate that was never seen is bounded by the rule of three, and one that was by more", () => {
    expect(rateAtMost(0, 100)).toBeCloseTo(1 - 0.05 ** (1 / 100), 6);
    expect(rateAtMost(1, 100)).toBeCloseTo(0.0466, 3);
    expect(rateAtMost(0, 0)).toBe(1);
  });
});
