import { describe, expect, it } from "vitest";
import { changePoints } from "../../bench/verdict/rules/change-points.ts";
import { publishedPeakRules } from "../../bench/verdict/rules/peak-all.ts";
import { iqrBoundary, tBoundary, zBoundary } from "../../bench/verdict/rules/peak-bencher.ts";
import { anyIncrease, overMean, overPinned, ratioOverLast } from "../../bench/verdict/rules/peak-fixed.ts";
import { rankScore } from "../../bench/verdict/rules/peak-mann-whitney.ts";
import { welchT } from "../../bench/verdict/rules/peak-perfcompare.ts";
import { adaptive, adaptiveDuet, maxOfFive, threeOfThree } from "../../bench/verdict/rules/peak-repeated.ts";
import type { PeakRule } from "../../bench/verdict/rules/peak-rule.ts";
import { isSpike } from "../../bench/verdict/rules/peak-stormlog.ts";

const SCALE = { floor: 2, quantum: 0.001 };

/** The answer when the change's runs come in this order, the last again and again; the base stays at 100. */
function asked(rule: PeakRule, baseline: readonly number[], runs: readonly number[], base = 100) {
  let next = 0;
  return rule.judge({ baseline, run: () => runs[Math.min(next++, runs.length - 1)] ?? Number.NaN, base: () => base });
}

describe("Bencher's boundaries", () => {
  it("zBoundary and tBoundary return Bencher's own test vectors at 85 %", () => {
    expect(zBoundary([-1, 0, 1], 0.85)).toBeCloseTo(1.0364333894937896, 9);
    const a = Math.sqrt(5 / 6);
    expect((tBoundary([-a, -a, -a, a, a, a], 0.85) ?? Number.NaN) / Math.sqrt(7 / 6)).toBeCloseTo(
      1.1557673428942912,
      9,
    );
  });

  it("iqrBoundary returns the median and quartiles of Bencher's vectors", () => {
    expect(iqrBoundary([5, 4, 3, 2, 1], 3)).toBe(3 + 3 * 2);
    expect(iqrBoundary([-6, -6, 1, 1, 9, 9], 1)).toBe(1 + 11.25);
    expect(iqrBoundary([1, 1, 1, 1, 1], 3)).toBe(1);
  });

  it("zBoundary and tBoundary return null for constant memory", () => {
    expect(zBoundary([5, 5, 5], 0.99)).toBeNull();
    expect(tBoundary([5, 5, 5], 0.99)).toBeNull();
  });
});

describe("tests of two samples", () => {
  it("Welch's t is that computed manually, and 0 where nothing varies", () => {
    expect(welchT([1, 2, 3], [4, 5, 6])).toBeCloseTo(3 / Math.sqrt(2 / 3), 12);
    expect(welchT([5, 5], [9, 9])).toBe(0);
  });

  it("the score of Mann and Whitney is that computed manually", () => {
    const low = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    const high = low.map((value) => value + 9);
    // U = 81 of 81 pairs: (81 - 40.5 - 0.5) / sqrt(81 * 19 / 12).
    expect(rankScore(low, high)).toBeCloseTo(40 / Math.sqrt((81 * 19) / 12), 12);
    expect(rankScore(high, low)).toBeCloseTo(-40 / Math.sqrt((81 * 19) / 12), 12);
    // Ties: two groups of nine equal values leave 729 * 2 - 18 of 18³ - 18.
    expect(rankScore(Array(9).fill(0), Array(9).fill(1))).toBeCloseTo(
      40 / Math.sqrt((81 / 12) * (19 - (2 * 720) / (18 * 17))),
      12,
    );
    expect(rankScore([3, 3, 3], [3, 3, 3])).toBe(0);
  });
});

describe("Stormlog's spike rule", () => {
  it("Stormlog's spike rule detects one spike among six values and cannot among five", () => {
    // z of a single spike is (n - 1) / sqrt(n): 2.04 and 1.79.
    expect(isSpike([0, 0, 0, 0, 0, 6], 6)).toBe(true);
    expect(isSpike([0, 0, 0, 0, 6], 6)).toBe(false);
    expect(isSpike([4, 4, 4], 4)).toBe(false);
  });
});

describe("Otava's change points", () => {
  const series = [
    1.02, 0.95, 0.99, 1, 1.12, 1, 1.01, 0.98, 1.01, 0.96, 0.5, 0.51, 0.48, 0.48, 0.55, 0.5, 0.49, 0.51, 0.5, 0.49,
  ];

  it("changePoints returns the indexes of Otava's own tests", () => {
    const at = (values: readonly number[], window: number) =>
      changePoints(values, { window, level: 0.0001 }).map(({ index }) => index);
    expect(at(series, 10)).toEqual([10]);
    expect(at([...series, 0.47, 0.48, 0.45, 0.01, 0.1, 0.22], 5)).toEqual([10, 23]);
  });

  it("Otava's change points need a difference that the scatter does not explain", () => {
    const same = [1, 1.02, 1.05, 0.95, 0.98, 1, 1.02, 1.05, 0.95, 0.98];
    const lower = [1, 1.02, 1.05, 0.95, 0.98, 0.8, 0.82, 0.85, 0.79, 0.77];
    expect(changePoints(same)).toEqual([]);
    expect(changePoints(lower).map(({ index }) => index)).toEqual([5]);
    expect(changePoints(Array<number>(60).fill(7))).toEqual([]);
  });
});

describe("fixed percentages", () => {
  it.each([
    [ratioOverLast(102), [90, 100], 102, false],
    [ratioOverLast(102), [90, 100], 102.1, true],
    [overPinned(5), [100, 200], 105, false],
    [overPinned(5), [100, 200], 105.1, true],
    [overMean(10), [90, 110], 110, false],
    [overMean(10), [90, 110], 110.1, true],
    // A ratchet: the least of all successes is what is kept.
    [anyIncrease, [101, 100, 105], 100, false],
    [anyIncrease, [101, 100, 105], 101, true],
  ] as const)("$name over $1 raises an alarm at $2: $3", (rule, baseline, value, alarm) => {
    expect(asked(rule, baseline, [value])).toEqual({ alarm, runs: 1 });
  });
});

describe("rules that repeat", () => {
  const calm = (runs: number) => Array<number>(runs).fill(100);

  it.each([
    [5, 4],
    [10, 3],
    [30, 2],
  ])("the adaptive rule over %i clean baseline runs confirms with %i runs", (runs, wanted) => {
    expect(asked(adaptive(SCALE), calm(runs), [110])).toEqual({ alarm: true, runs: wanted });
  });

  it("rules that repeat end with the first run that is within the limit", () => {
    expect(asked(adaptive(SCALE), calm(10), [110, 101])).toEqual({ alarm: false, runs: 2 });
    expect(asked(threeOfThree(SCALE), calm(10), [110, 110, 102])).toEqual({ alarm: false, runs: 3 });
    expect(asked(threeOfThree(SCALE), calm(10), [110])).toEqual({ alarm: true, runs: 3 });
  });

  it("the adaptive rule follows the base where it is run again", () => {
    expect(asked(adaptiveDuet(SCALE), calm(10), [110], 100)).toEqual({ alarm: true, runs: 6 });
    expect(asked(adaptiveDuet(SCALE), calm(10), [110], 110)).toEqual({ alarm: false, runs: 6 });
  });

  it("maxOfFive requires two of three runs above the largest of five", () => {
    const rule = maxOfFive({ floor: 0, quantum: 1 });
    expect(asked(rule, [200, 100, 100, 100, 100, 100], [102])).toEqual({ alarm: false, runs: 1 });
    expect(asked(rule, calm(5), [103, 100, 103])).toEqual({ alarm: true, runs: 3 });
    expect(asked(rule, calm(5), [103, 100, 100])).toEqual({ alarm: false, runs: 3 });
  });
});

describe("every published peak rule", () => {
  it("every published rule has its own name and passes an unchanged constant memory", () => {
    const rules = publishedPeakRules(SCALE);
    expect(new Set(rules.map(({ name }) => name)).size).toBe(rules.length);
    for (const rule of rules)
      expect(asked(rule, Array<number>(rule.history).fill(100), [100]).alarm, rule.name).toBe(false);
  });
});
