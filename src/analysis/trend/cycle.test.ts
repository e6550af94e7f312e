import { describe, expect, it } from "vitest";
import { prng } from "../../stats/testing/prng.ts";
import { theilSen } from "../../stats/theil-sen.ts";
import { findCycle } from "./cycle.ts";

const points = (n: number, at: (i: number) => number) => Float64Array.from({ length: n }, (_, i) => at(i));
const tooth = (i: number, period: number, phase = 0.3) => (i / period + phase) % 1;

describe("a cycle", () => {
  it.each([2.5, 5, 7.3, 13.37])(
    "a cycle of %s points is found and subtracted, and the line under it stays",
    (period) => {
      const found = findCycle(points(120, (i) => 3 * tooth(i, period) + i / 119));
      expect(found?.period).toBeCloseTo(period, 1);
      const envelope = found!.lowerEnvelope;
      const grown =
        [...envelope.slice(100)].sort((a, b) => a - b)[10]! - [...envelope.slice(0, 20)].sort((a, b) => a - b)[10]!;
      expect(grown).toBeGreaterThan(0.65);
      expect(grown).toBeLessThan(1.05);
      expect(found!.swing).toBeGreaterThan(2);
    },
  );

  it("the lower envelope of a cycle of a whole number of points keeps the growth", () => {
    const random = prng(2);
    const wave = (i: number) => Math.sin((2 * Math.PI * (i % 11)) / 11) + 0.02 * random.normal();
    const envelope = findCycle(points(300, (i) => wave(i) + (0.3 * i) / 299))!.lowerEnvelope;
    const grown = theilSen(
      points(300, (i) => i),
      envelope,
    );
    expect(grown * 299).toBeGreaterThan(0.25);
  });

  it("a cycle may have any shape", () => {
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
  ])("findCycle finds no cycle in %s", (_name, at) => {
    const random = prng(4);
    expect(findCycle(points(200, at))).toBeNull();
    expect(findCycle(points(200, (i) => at(i) + 0.05 * random.normal()))).toBeNull();
  });

  it("a cycle of few points seldom looks like growth, even close to a whole number of points", () => {
    const n = 60;
    const index = points(n, (i) => i);
    const grown = Array.from({ length: 400 }, (_, k) => {
      const found = findCycle(points(n, (i) => 100 * tooth(i, 4.5 + k / 100, (0.618 * k) % 1)));
      return found === null ? 0 : Math.abs(theilSen(index, found.lowerEnvelope)) * (n - 1);
    });
    // More than a twentieth of the swing. Half of them would be, if the period with the shortest string with a slope
    // were used.
    expect(grown.filter((growth) => growth > 5).length / grown.length).toBeLessThan(0.2);
  });

  it("a cycle has a larger periodError with fewer sampled phases", () => {
    const periodError = (n: number) => findCycle(points(n, (i) => 100 * tooth(i, 7.3)))!.periodError;
    expect(periodError(300)).toBeLessThan(2);
    expect(periodError(60)).toBeGreaterThan(2 * periodError(300));
  });

  it("findCycle finds no cycle in white or autocorrelated noise", () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = prng(seed);
      let wander = 0;
      expect(findCycle(points(120, () => random.normal()))).toBeNull();
      expect(
        findCycle(
          points(120, () => {
            wander = 0.9 * wander + random.normal();
            return wander;
          }),
        ),
      ).toBeNull();
    }
  });
});
