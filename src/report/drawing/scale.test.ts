import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GIB, MIB } from "../../core/units.ts";
import { byteTicks, labelsWithUnit, ticks, timeTicks } from "./scale.ts";

describe("axis ticks", () => {
  it("bytes have short numbers in one unit", () => {
    expect(labelsWithUnit(byteTicks(0, 2.2 * GIB, 6))).toEqual(["0", "0.5 GiB", "1.0 GiB", "1.5 GiB", "2.0 GiB"]);
    expect(byteTicks(0, 36.9 * MIB, 5)).toMatchObject({ unit: "MiB", labels: ["0", "10", "20", "30"] });
    expect(labelsWithUnit(byteTicks(0, 900, 4))).toEqual(["0", "500 B"]);
    expect(byteTicks(40 * GIB, 40 * GIB + 30 * MIB, 4).labels).toEqual(["40.00", "40.01", "40.02"]);
  });

  it("times have one unit that fits the span", () => {
    expect(labelsWithUnit(timeTicks(1.2, 6))).toEqual([
      "0",
      "200 ms",
      "400 ms",
      "600 ms",
      "800 ms",
      "1000 ms",
      "1200 ms",
    ]);
    expect(labelsWithUnit(timeTicks(42, 5))).toEqual(["0", "10 s", "20 s", "30 s", "40 s"]);
    expect(labelsWithUnit(timeTicks(600, 5))).toEqual(["0", "2 min", "4 min", "6 min", "8 min", "10 min"]);
    expect(labelsWithUnit(timeTicks(9 * 86400, 5))).toEqual(["0", "2 d", "4 d", "6 d", "8 d"]);
  });

  it("steps are whole", () => {
    expect(ticks(3, 5.5, 10, { least: 1 }).labels).toEqual(["3", "4", "5"]);
  });

  it("ratios near each other stay distinct", () => {
    expect(labelsWithUnit(ticks(0.96, 1.04, 5, { unit: "x" }))).toEqual([
      "0.96 x",
      "0.98 x",
      "1.00 x",
      "1.02 x",
      "1.04 x",
    ]);
  });

  it("ticks lie inside the range, in at most `count` intervals, with different labels", () => {
    const high = fc.double({ min: 1, max: 1e18, noNaN: true });
    fc.assert(
      fc.property(high, fc.integer({ min: 3, max: 12 }), fc.constantFrom(byteTicks, ticks), (to, count, of) => {
        const { values, labels } = of(0, to, count);
        expect(values.length).toBeGreaterThanOrEqual(2);
        expect(values.length).toBeLessThanOrEqual(count + 1);
        expect(values.at(-1)!).toBeLessThanOrEqual(to * (1 + 1e-6));
        expect(new Set(labels).size).toBe(labels.length);
      }),
    );
  });
});
