import { describe, expect, it } from "vitest";
import { wilsonInterval as benchInterval } from "../../bench/verdict/intervals.ts";
import { tallyText, wilsonInterval } from "./wilson.ts";

describe("the interval of a share", () => {
  // Values of Wilson's interval as statsmodels' proportion_confint(method="wilson") gives them.
  it.each([
    [0, 20, 0, 0.16112516],
    [20, 20, 0.83887484, 1],
    [1, 10, 0.01787622, 0.40415003],
    [50, 100, 0.40383153, 0.59616847],
  ])("of %i in %i is right", (hits, tries, low, high) => {
    const [l, h] = wilsonInterval({ hits, tries });
    expect(l).toBeCloseTo(low, 4);
    expect(h).toBeCloseTo(high, 4);
  });

  it("knows nothing where nothing was tried", () => {
    expect(wilsonInterval({ hits: 0, tries: 0 })).toEqual([0, 1]);
    expect(tallyText({ hits: 0, tries: 0 })).toBe("not tried");
  });

  it("agrees with the interval that the verdict's bench prints", () => {
    for (const [hits, of] of [
      [3, 40],
      [7, 3000],
    ] as const) {
      const [low, high] = wilsonInterval({ hits, tries: of });
      const [benchLow, benchHigh] = benchInterval(hits, of);
      expect(low).toBeCloseTo(benchLow, 3);
      expect(high).toBeCloseTo(benchHigh, 3);
    }
  });

  it("is written beside the count", () => {
    expect(tallyText({ hits: 3, tries: 40 })).toBe("3/40 (2.6 % to 19.9 %)");
  });
});
