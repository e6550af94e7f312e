import { describe, expect, it } from "vitest";
import { fitRamp } from "./ramp.ts";
import { prng } from "./testing/prng.ts";

/** Residual squares of the best level outside [from, to] and the line within, by regression. */
function residual(values: readonly number[], from: number, to: number): number {
  const w = values.map((_, i) => Math.min(1, Math.max(0, (i - from) / (to - from))));
  const [mw, my] = [w, values].map((all) => all.reduce((sum, one) => sum + one, 0) / all.length) as [number, number];
  const slope =
    w.reduce((sum, one, i) => sum + (one - mw) * (values[i]! - my), 0) /
    w.reduce((sum, one) => sum + (one - mw) ** 2, 0);
  return values.reduce((sum, value, i) => sum + (value - my - slope * (w[i]! - mw)) ** 2, 0);
}

describe("fitRamp", () => {
  it("fitRamp finds the ends of the line between two levels", () => {
    const values = Float64Array.from({ length: 30 }, (_, i) => 10 + Math.min(5, Math.max(0, i - 12)));
    expect(fitRamp(values, 5)).toMatchObject({ from: 12, to: 17, squares: expect.closeTo(0, 6) });
  });

  it("a step is a line between neighbours", () => {
    expect(
      fitRamp(
        Float64Array.from({ length: 20 }, (_, i) => (i < 8 ? 1 : 2)),
        5,
      ),
    ).toMatchObject({ from: 7, to: 8 });
  });

  it("fitRamp finds the line with the smallest residuals", () => {
    const random = prng(9);
    const values = Array.from({ length: 24 }, (_, i) => 0.2 * i + random.normal());
    const best = fitRamp(Float64Array.from(values), 5)!;
    expect(best.squares).toBeCloseTo(residual(values, best.from, best.to), 6);
    for (let from = 4; from < 19; from += 1) {
      for (let to = from + 1; to <= 19; to += 1) {
        expect(residual(values, from, to)).toBeGreaterThanOrEqual(best.squares - 1e-9);
      }
    }
  });

  it("too few values have no line", () => {
    expect(fitRamp(Float64Array.of(1, 2, 3), 5)).toBeNull();
  });
});
