import { describe, expect, it } from "vitest";
import { MIB } from "../../core/units.ts";
import { classifyCycles, cyclesDecide } from "./classify-cycles.ts";

const CHANGE = 8 * MIB;
/** Levels after cycles that leave these MiB each. */
const levels = (...left: readonly number[]): number[] => {
  let at = 100;
  return [at, ...left.map((one) => (at += one))].map((level) => level * MIB);
};
const label = (...left: readonly number[]) => classifyCycles(levels(...left), CHANGE).class;

describe("the trend of levels at rest", () => {
  it("a trend is a leak where every cycle leaves about the same", () => {
    expect(label(3, 3.1, 2.9, 3, 3.05, 2.95, 3, 3)).toBe("leak");
    expect(classifyCycles(levels(3, 3.1, 2.9, 3, 3.05, 2.95, 3, 3), CHANGE).perCycle / MIB).toBeCloseTo(3, 1);
  });

  it("a trend is a plateau where a pool fills to its first demand", () => {
    expect(label(36, 1, 1, 1, 0, 0, 0, 0)).toBe("plateau");
    expect(label(40, 20, 10, 5, 2, 1, 0, 0)).toBe("plateau");
  });

  it("a trend is not a leak where growth slows down", () => {
    const slower = Array.from({ length: 12 }, (_, i) => 60 * Math.log((i + 2) / (i + 1)));
    expect(label(...slower)).toBe("rising");
  });

  it("a trend is flat below the material change, whatever its significance", () => {
    expect(label(0.5, 0.5, 0.5, 0.5, 0.5, 0.5)).toBe("flat");
  });

  it("a trend has no class of fewer cycles than the test needs", () => {
    expect(label(9, 9, 9)).toBe("insufficient");
    expect(label()).toBe("insufficient");
  });

  it("a trend of a count is a leak where every cycle leaves some of what is counted", () => {
    const descriptors = [9, 18, 28, 38, 48, 58, 68, 78, 88];
    expect(classifyCycles(descriptors, 16, true)).toMatchObject({ class: "leak", perCycle: 10 });
    expect(classifyCycles(descriptors, 16).class).not.toBe("leak");
    expect(classifyCycles([9, 9, 10, 9, 9, 10, 9, 9, 9], 16, true).class).toBe("flat");
  });

  it("a trend states an interval that holds what a cycle leaves, and a minimum of at least the material change", () => {
    const { interval, perCycle, mde } = classifyCycles(levels(2, 4, 3, 3, 2, 4, 3, 3, 3), CHANGE);
    expect(interval[0]).toBeLessThan(perCycle);
    expect(interval[1]).toBeGreaterThan(perCycle);
    expect(mde).toBeGreaterThanOrEqual(CHANGE);
  });
});

describe("the number of cycles", () => {
  it("eight cycles are enough once a leak is shown or nothing could grow, and seven are not", () => {
    const leak = Array.from({ length: 8 }, () => 5);
    expect(cyclesDecide(levels(...leak.slice(1)), CHANGE)).toBe(false);
    expect(cyclesDecide(levels(...leak), CHANGE)).toBe(true);
    expect(cyclesDecide(levels(...leak.map(() => 0)), CHANGE)).toBe(true);
  });

  it("eight cycles are not enough while growth may still become material", () => {
    expect(cyclesDecide(levels(3, 0, 4, 0, 3, 0, 2, 1), CHANGE)).toBe(false);
  });
});
