import { describe, expect, it } from "vitest";
import { fitHinge, fitLine } from "./least-squares.ts";
import { prng } from "./testing/prng.ts";

/** The same fit by its definition: one regression for each onset. */
function byDefinition(x: Float64Array, y: Float64Array, first: number, last: number) {
  const fits = Array.from({ length: last - first + 1 }, (_, k) => {
    const from = x[first + k]!;
    const ramp = x.map((at) => Math.max(0, at - from));
    return { onset: first + k, ...fitLine(ramp, y) };
  });
  return fits.filter(({ slope }) => slope > 0).reduce((best, one) => (one.sse < best.sse ? one : best));
}

describe("the hinge of least squares", () => {
  it("agrees with one regression for each onset, at uneven positions far from zero", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = prng(seed);
      let at = 1e15;
      const x = Float64Array.from({ length: 40 }, () => {
        at += 1e6 * (0.2 + random.uniform());
        return at;
      });
      const knee = 5 + Math.floor(30 * random.uniform());
      const y = Float64Array.from(x, (value) => 2 ** 30 + 0.05 * Math.max(0, value - x[knee]!) + 1e4 * random.normal());
      const [first, last] = seed % 2 === 0 ? [0, 38] : [10, 34];
      const expected = byDefinition(x, y, first, last);
      const found = fitHinge(x, y, first, last);
      expect(found?.onset).toBe(expected.onset);
      expect(found!.slope / expected.slope).toBeCloseTo(1, 6);
      expect(found!.sse / expected.sse).toBeCloseTo(1, 6);
    }
  });

  it("explains everything where nothing but the hinge is there", () => {
    const x = Float64Array.from({ length: 30 }, (_, i) => i);
    const found = fitHinge(
      x,
      x.map((at) => 100 + 3 * Math.max(0, at - 12)),
    );
    expect(found?.onset).toBe(12);
    expect(found!.slope).toBeCloseTo(3, 9);
    expect(found!.explained).toBeCloseTo(1, 9);
  });

  it("fitHinge returns null for data that do not rise", () => {
    const x = Float64Array.from({ length: 30 }, (_, i) => i);
    expect(
      fitHinge(
        x,
        x.map(() => 5),
      ),
    ).toBeNull();
    expect(
      fitHinge(
        x,
        x.map((at) => -at),
      ),
    ).toBeNull();
  });
});
