import { describe, expect, it } from "vitest";
import { tallyText, wilsonInterval } from "./wilson.ts";

describe("wilsonInterval", () => {
  // Values of Wilson's interval as statsmodels' proportion_confint(method="wilson") gives them.
  it.each([
    [0, 20, 0, 0.16112516],
    [20, 20, 0.83887484, 1],
    [1, 10, 0.01787622, 0.40415003],
    [50, 100, 0.40383153, 0.59616847],
  ])("wilsonInterval of %i in %i is right", (hits, tries, low, high) => {
    const [l, h] = wilsonInterval({ hits, tries });
    expect(l).toBeCloseTo(low, 4);
    expect(h).toBeCloseTo(high, 4);
  });

  it("wilsonInterval without tries is [0, 1]", () => {
    expect(wilsonInterval({ hits: 0, tries: 0 })).toEqual([0, 1]);
    expect(tallyText({ hits: 0, tries: 0 })).toBe("not tried");
  });

  it("tallyText prints the interval beside the count", () => {
    expect(tallyText({ hits: 3, tries: 40 })).toBe("3/40 (2.6 % to 19.9 %)");
  });
});
