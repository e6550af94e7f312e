import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GIB, MIB } from "../../core/units.ts";
import { byteTicks, sizeTicks, stepTicks, timeTicks } from "./scale.ts";

describe("byteTicks", () => {
  it("steps by powers of two and prints short labels in one unit", () => {
    expect(byteTicks(0, 2.2 * GIB, 6).labels).toEqual(["0", "0.5 GiB", "1.0 GiB", "1.5 GiB", "2.0 GiB"]);
    expect(byteTicks(0, 900, 4).labels).toEqual(["0", "256 B", "512 B", "768 B"]);
  });

  it("uses a smaller unit where a zoomed axis would need many decimals", () => {
    expect(byteTicks(40 * GIB, 40 * GIB + 30 * MIB, 4).labels).toEqual([
      "40960 MiB",
      "40968 MiB",
      "40976 MiB",
      "40984 MiB",
    ]);
  });

  it("returns at least two and at most `count` + 1 ticks, all inside the range and all different", () => {
    fc.assert(
      fc.property(fc.integer({ min: 16, max: 2 ** 50 }), fc.integer({ min: 3, max: 12 }), (high, count) => {
        const ticks = byteTicks(0, high, count);
        expect(ticks.values.length).toBeGreaterThanOrEqual(2);
        expect(ticks.values.length).toBeLessThanOrEqual(count + 1);
        expect(ticks.values[ticks.values.length - 1]).toBeLessThanOrEqual(high);
        expect(new Set(ticks.labels).size).toBe(ticks.labels.length);
      }),
    );
  });
});

describe("timeTicks", () => {
  it("uses one unit that fits the span", () => {
    expect(timeTicks(1.2, 6).labels).toEqual(["0", "200 ms", "400 ms", "600 ms", "800 ms", "1000 ms", "1200 ms"]);
    expect(timeTicks(42, 5).labels).toEqual(["0", "10 s", "20 s", "30 s", "40 s"]);
    expect(timeTicks(600, 5).labels).toEqual(["0", "2 min", "4 min", "6 min", "8 min", "10 min"]);
    expect(timeTicks(5 * 3600, 5).labels).toEqual(["0", "1 h", "2 h", "3 h", "4 h", "5 h"]);
    expect(timeTicks(9 * 86400, 5).labels).toEqual(["0", "2 d", "4 d", "6 d", "8 d"]);
  });

  it("never returns more intervals than `count`", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 1e9, noNaN: true }), fc.integer({ min: 3, max: 12 }), (high, count) => {
        const ticks = timeTicks(high, count);
        expect(ticks.values.length).toBeLessThanOrEqual(count + 1);
        expect(new Set(ticks.labels).size).toBe(ticks.labels.length);
      }),
    );
  });
});

describe("sizeTicks", () => {
  it("starts at zero, names its unit once and ends at or above the highest value", () => {
    expect(sizeTicks(36.9 * MIB, 5)).toMatchObject({ unit: "MiB", labels: ["0", "10", "20", "30", "40"] });
    expect(sizeTicks(1.28 * GIB, 3)).toMatchObject({ unit: "GiB", labels: ["0", "0.5", "1.0", "1.5"] });
    fc.assert(
      fc.property(fc.double({ min: 1, max: 1e18, noNaN: true }), fc.integer({ min: 3, max: 8 }), (high, count) => {
        const ticks = sizeTicks(high, count);
        expect(ticks.values[0]).toBe(0);
        expect(ticks.values.at(-1)!).toBeGreaterThanOrEqual(high * (1 - 1e-6));
        expect(ticks.values.length).toBeLessThanOrEqual(count + 1);
        expect(new Set(ticks.labels).size).toBe(ticks.labels.length);
      }),
    );
  });
});

describe("stepTicks", () => {
  it("has whole steps and names the unit at the first", () => {
    expect(stepTicks(0, 120, 6).labels).toEqual(["step 0", "20", "40", "60", "80", "100", "120"]);
    expect(stepTicks(3, 5.5, 10).labels).toEqual(["step 3", "4", "5"]);
  });
});
