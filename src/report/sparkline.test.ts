import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sparkline } from "./sparkline.ts";

describe("sparkline", () => {
  it("has the requested width and shows the highest value of each interval", () => {
    const values = new Float64Array(10_000).fill(1);
    values[5003] = 100;
    const line = sparkline(values, 20);
    expect([...line]).toHaveLength(20);
    expect([...line][10]).toBe("█");
    expect([...line].filter((letter) => letter !== "▁")).toHaveLength(1);
  });

  it("prints a space for a gap and is empty without a value", () => {
    expect(sparkline([0, Number.NaN, 8, 4], 4)).toBe("▁ █▅");
    expect(sparkline([Number.NaN], 5)).toBe("");
    expect(sparkline([], 5)).toBe("");
  });

  it("always has the requested width when any value is finite", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double(), { minLength: 1, maxLength: 200 }),
        fc.integer({ min: 1, max: 80 }),
        (values, width) => {
          const line = sparkline(values, width);
          expect([...line].length).toBe(values.some(Number.isFinite) ? width : 0);
        },
      ),
    );
  });
});
