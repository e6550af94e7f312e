import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decimate, indexOfPeak } from "./decimate.ts";

const series = fc
  .array(
    fc.tuple(
      fc.double({ min: 0.001, max: 2, noNaN: true }),
      fc.oneof(fc.integer({ min: 0, max: 1e12 }), fc.constant(Number.NaN)),
    ),
    {
      minLength: 1,
      maxLength: 400,
    },
  )
  .map((rows) => {
    let now = 0;
    const time_s = Float64Array.from(rows, ([dt]) => {
      now += dt;
      return now;
    });
    return { time_s, bytes: Float64Array.from(rows, ([, value]) => value) };
  });

describe("decimate", () => {
  it("keeps the lowest and highest sample of every pixel column at their times", () => {
    fc.assert(
      fc.property(series, fc.integer({ min: 1, max: 60 }), (line, columns) => {
        const to = line.time_s[line.time_s.length - 1]!;
        const thin = decimate(line, 0, to, columns);
        const kept = new Set<string>();
        for (const [i, value] of thin.bytes.entries()) kept.add(`${thin.time_s[i]}:${value}`);
        const extremes = new Map<number, { low: number; high: number }>();
        line.bytes.forEach((value, i) => {
          if (Number.isNaN(value)) return;
          const column = Math.min(columns - 1, Math.floor(line.time_s[i]! / (to / columns)));
          const known = extremes.get(column) ?? { low: i, high: i };
          if (value < line.bytes[known.low]!) known.low = i;
          if (value > line.bytes[known.high]!) known.high = i;
          extremes.set(column, known);
        });
        for (const { low, high } of extremes.values()) {
          expect(kept).toContain(`${line.time_s[low]}:${line.bytes[low]}`);
          expect(kept).toContain(`${line.time_s[high]}:${line.bytes[high]}`);
        }
        expect(thin.bytes.length).toBeLessThanOrEqual(5 * columns + 5);
      }),
    );
  });

  it("returns only samples of the input, in their order", () => {
    fc.assert(
      fc.property(series, (line) => {
        const thin = decimate(line, 0, line.time_s[line.time_s.length - 1]!, 20);
        let from = 0;
        thin.bytes.forEach((value, i) => {
          if (Number.isNaN(value)) return;
          const at = line.time_s.indexOf(thin.time_s[i]!, from);
          expect(at).toBeGreaterThanOrEqual(from);
          expect(line.bytes[at]).toBe(value);
          from = at;
        });
      }),
    );
  });

  it("keeps a gap wider than a column and bridges a narrower one", () => {
    const time_s = Float64Array.from({ length: 1000 }, (_, i) => i / 10);
    const bytes = Float64Array.from({ length: 1000 }, (_, i) => (i === 50 || (i > 400 && i < 600) ? Number.NaN : 7));
    const thin = decimate({ time_s, bytes }, 0, 100, 100);
    expect([...thin.bytes].filter(Number.isNaN)).toHaveLength(1);
    expect(thin.time_s[thin.bytes.findIndex(Number.isNaN)]).toBeCloseTo(40);
  });

  it("stays within 5 points per column when every other value is missing", () => {
    const n = 200_000;
    const time_s = Float64Array.from({ length: n }, (_, i) => i);
    const bytes = Float64Array.from({ length: n }, (_, i) => (i % 2 ? Number.NaN : i % 977));
    expect(decimate({ time_s, bytes }, 0, n, 500).bytes.length).toBeLessThanOrEqual(2500);
  });

  it("accepts an empty series, one sample and an empty span", () => {
    const none = new Float64Array(0);
    expect(decimate({ time_s: none, bytes: none }, 0, 0, 10).bytes).toHaveLength(0);
    expect([...decimate({ time_s: Float64Array.of(0), bytes: Float64Array.of(5) }, 0, 0, 10).bytes]).toEqual([5]);
  });
});

describe("indexOfPeak", () => {
  it("finds the earliest highest value and skips what is not finite", () => {
    expect(indexOfPeak([Number.NaN, 3, 9, Number.POSITIVE_INFINITY, 9])).toBe(2);
    expect(indexOfPeak([Number.NaN])).toBe(-1);
  });
});
