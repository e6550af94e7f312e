import { describe, expect, it } from "vitest";
import { prng } from "../../stats/testing/prng.ts";
import { equalTeeth } from "./equal-teeth.ts";

const points = (n: number, at: (i: number) => number) => Float64Array.from({ length: n }, (_, i) => at(i));
const tooth = (i: number, period: number, phase = 0.3) => (i / period + phase) % 1;
/** Of the lower envelope, end to end. */
const grown = (y: Float64Array) => y[y.length - 1]! - y[0]!;
/** Periods of 2.5 to 10 points, each at another phase. */
const PERIODS = Array.from({ length: 300 }, (_, k) => [2.5 + k / 40, (0.618 * k) % 1] as const);

describe("equal teeth", () => {
  it("equal teeth show the growth below them, up to what their period leaves open", () => {
    const found = PERIODS.flatMap(([period, phase]) => {
      const teeth = equalTeeth(points(60, (i) => 300 * tooth(i, period, phase) + (150 * i) / 59));
      return teeth?.certain === true ? [teeth] : [];
    });
    expect(found.length).toBeGreaterThan(0.9 * PERIODS.length);
    for (const { lowerEnvelope, periodError } of found) {
      expect(Math.abs(grown(lowerEnvelope) - 150)).toBeLessThanOrEqual(periodError + 1e-6);
    }
  });

  it("equal teeth without growth never grow for certain", () => {
    const found = PERIODS.map(([period, phase]) => equalTeeth(points(60, (i) => 300 * tooth(i, period, phase))));
    expect(found.filter((teeth) => teeth?.certain === true)).toEqual([]);
    const level = found.flatMap((teeth) => (teeth === null ? [] : [teeth.lowerEnvelope]));
    expect(level.length).toBeGreaterThan(0.8 * PERIODS.length);
    for (const envelope of level) expect(Math.abs(grown(envelope))).toBeLessThan(1e-6);
  });

  it("equalTeeth returns null where the period may be a whole number of points", () => {
    expect(equalTeeth(points(60, (i) => 300 * tooth(i, 5) + i / 10))).toBeNull();
    expect(equalTeeth(points(60, (i) => 300 * tooth(i, 5.01)))).toBeNull();
  });

  it("equal teeth may be noisy, and not of unequal heights or periods", () => {
    const random = prng(3);
    const noisy = points(60, (i) => 300 * tooth(i, 5.37) + (150 * i) / 59 + 2 * random.normal());
    expect(equalTeeth(noisy)?.certain).toBe(true);
    let level = 0;
    const unequal = points(60, () => {
      level = level > 280 ? 150 * random.uniform() : level + 55;
      return level;
    });
    expect(equalTeeth(unequal)).toBeNull();
    expect(equalTeeth(points(60, (i) => 300 * tooth(i ** 1.2 / 2, 5.37)))).toBeNull();
  });

  it.each<[string, (i: number) => number]>([
    ["a line", (i) => i],
    ["a constant", () => 5],
    ["stairs", (i) => Math.floor(i / 5)],
    ["falling stairs", (i) => -Math.floor(i / 5)],
    ["one jump", (i) => (i < 30 ? 0 : 100)],
    ["two levels in turn", (i) => i % 2],
  ])("equal teeth are not found in %s", (_name, at) => {
    expect(equalTeeth(points(60, at))).toBeNull();
  });
});
