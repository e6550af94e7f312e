import { describe, expect, it } from "vitest";
import { theilSen } from "../../stats/fit.ts";
import { prng } from "../../stats/testing/prng.ts";
import { findCycle } from "./cycle.ts";

const points = (n: number, at: (i: number) => number) => Float64Array.from({ length: n }, (_, i) => at(i));
const tooth = (i: number, period: number, phase = 0.3) => (i / period + phase) % 1;

describe("a cycle", () => {
  it.each([2.5, 5, 7.3, 13.37])("of %s points is found and taken off, the line under it stays", (period) => {
    const found = findCycle(points(120, (i) => 3 * tooth(i, period) + i / 119));
    expect(found?.period).toBeCloseTo(period, 1);
    const floor = found!.floor;
    const grown = [...floor.slice(100)].sort((a, b) => a - b)[10]! - [...floor.slice(0, 20)].sort((a, b) => a - b)[10]!;
    expect(grown).toBeGreaterThan(0.65);
    expect(grown).toBeLessThan(1.05);
    expect(found!.swing).toBeGreaterThan(2);
  });

  it("may have any shape", () => {
    const found = findCycle(points(200, (i) => (i % 11 < 8 ? 1 : 4) + i / 50));
    expect(found?.period).toBeCloseTo(11, 1);
  });

  it.each<[string, (i: number) => number]>([
    ["a line", (i) => i],
    ["one jump", (i) => (i < 70 ? 0 : 100)],
    ["two jumps", (i) => (i < 70 ? 0 : i < 140 ? 60 : 120)],
    ["four stairs", (i) => Math.floor(i / 40)],
    ["a ramp that ends", (i) => Math.min(i, 60)],
    ["a late ramp", (i) => Math.max(0, i - 130)],
    ["a constant", () => 5],
  ])("is not seen in %s", (_name, at) => {
    const random = prng(4);
    expect(findCycle(points(200, at))).toBeNull();
    expect(findCycle(points(200, (i) => at(i) + 0.05 * random.normal()))).toBeNull();
  });

  it("of few points is seldom read as growth, however close to a whole number of points it is", () => {
    const n = 60;
    const index = points(n, (i) => i);
    const grown = Array.from({ length: 400 }, (_, k) => {
      const found = findCycle(points(n, (i) => 100 * tooth(i, 4.5 + k / 100, (0.618 * k) % 1)));
      return found === null ? 0 : Math.abs(theilSen(index, found.floor)) * (n - 1);
    });
    // More than a twentieth of the swing: half of them, if the period that folds most finely with a slope were taken for granted.
    expect(grown.filter((growth) => growth > 5).length / grown.length).toBeLessThan(0.2);
  });

  it("leaves more to doubt the fewer phases of it are seen", () => {
    const doubt = (n: number) => findCycle(points(n, (i) => 100 * tooth(i, 7.3)))!.doubt;
    expect(doubt(300)).toBeLessThan(2);
    expect(doubt(60)).toBeGreaterThan(2 * doubt(300));
  });

  it("is not seen in noise, white or slow", () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = prng(seed);
      let slow = 0;
      expect(findCycle(points(120, () => random.normal()))).toBeNull();
      expect(
        findCycle(
          points(120, () => {
            slow = 0.9 * slow + random.normal();
            return slow;
          }),
        ),
      ).toBeNull();
    }
  });
});
