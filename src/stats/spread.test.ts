import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pooledDeviation, standardDeviation } from "./moments.ts";
import { median } from "./order-statistics.ts";
import { qn } from "./qn.ts";
import { spread, spreadWithin } from "./spread.ts";

describe("spread", () => {
  it("spread is the rounding error of the counter for constant values", () => {
    expect(spread([5, 5, 5, 5, 5], 512)).toBeCloseTo(512 / Math.sqrt(12));
    expect(spread([], 512)).toBeCloseTo(512 / Math.sqrt(12));
  });

  it("spread is robust against one outlier in ten runs", () => {
    const calm = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    expect(spread([...calm.slice(0, 9), 1e9], 0)).toBeLessThan(2 * spread(calm, 0));
  });

  it("estimates the standard deviation of a normal", () => {
    // The quantiles of a normal at 1/20, 2/20 .. 19/20 serve as a sample.
    const sample = [-1.645, -1.282, -1.036, -0.842, -0.674, -0.524, -0.385, -0.253, -0.126];
    const both = [...sample, 0, ...sample.map((x) => -x)];
    expect(qn(both)).toBeGreaterThan(0.85);
    expect(qn(both)).toBeLessThan(1.15);
  });

  it("spreadWithin ignores the offset between groups", () => {
    const groups = [
      [0, 1, 2],
      [1000, 1001, 1002],
      [5, 5],
    ];
    expect(spreadWithin(groups, 0)).toBeLessThan(3);
    expect(pooledDeviation([[1], [2]])).toBeNull();
    expect(spreadWithin([[1], [2]], 0)).toBeNull();
  });

  it("never exceeds the standard deviation nor falls below the rounding error", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1e9 }), { minLength: 2, maxLength: 30 }), (values) => {
        const found = spread(values, 512);
        const least = 512 / Math.sqrt(12);
        return found >= least && found <= Math.max(least, standardDeviation(values));
      }),
    );
  });

  it("median of an even number of values is the mean of the middle two, and NaN of none", () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });
});
