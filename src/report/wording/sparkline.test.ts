import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sparkline } from "./sparkline.ts";

describe("sparkline", () => {
  it("sparkline has the requested width and shows the highest value of each interval", () => {
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

  it("starts at zero, so that values close together look flat", () => {
    const values = Array.from({ length: 40 }, (_, i) => 12.48 - (0.04 * i) / 39);
    expect(sparkline(values, 8)).toMatch(/^(.)\1{7}$/);
    expect(sparkline([4, 8], 2)).toBe("▅█");
  });

  it("marks where the series first passes its limit, which the scale includes", () => {
    const ramp = Array.from({ length: 64 }, (_, i) => (i + 1) / 2);
    expect(sparkline(ramp, 9, { limit: 16 })).toBe("▂▃▄▅┊▆▇██");
    expect(sparkline([1, 1, 1, 1], 4, { limit: 8 })).toBe("▂▂▂▂");
    expect(sparkline([9], 1, { limit: 8 })).toBe("┊");
    expect(sparkline([9, 9], 4, { limit: null })).not.toContain("┊");
  });

  it("gives each value the time until the next one, where values have times", () => {
    const times = [0, 1, 2, 3, 9, 10];
    expect(sparkline([8, 8, 8, 8, 4, 4], 5, { times })).toBe("████▅");
    expect(sparkline([8, 8, 8, 8, 4, 4], 5)).toBe("███▅▅");
    expect(sparkline([8, 4], 2, { times: [5, 5] })).toBe("█▅");
  });

  it("always has the requested width when any value is finite", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double(), { minLength: 1, maxLength: 200 }),
        fc.integer({ min: 1, max: 80 }),
        fc.option(fc.double()),
        fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 200, maxLength: 200 }),
        (values, width, limit, unsorted) => {
          const times = [...unsorted].sort((a, b) => a - b);
          expect([...sparkline(values, width, { limit, times })].length).toBe(values.some(Number.isFinite) ? width : 0);
          const line = sparkline(values, width, { limit });
          expect([...line].length).toBe(values.some(Number.isFinite) ? width : 0);
        },
      ),
    );
  });
});
