import { describe, expect, it } from "vitest";
import { residualMser } from "./mser.ts";

const values = (n: number, at: (i: number) => number) => Float64Array.from({ length: n }, (_, i) => at(i));
const x = (n: number) => values(n, (i) => i);

describe("residualMser", () => {
  it("cuts a ramp to a level, and nothing of a line or a constant", () => {
    const cut = residualMser(
      x(100),
      values(100, (i) => Math.min(i, 20) * 100),
      1,
    );
    expect(cut).toBeGreaterThanOrEqual(18);
    expect(cut).toBeLessThanOrEqual(22);
    expect(
      residualMser(
        x(100),
        values(100, (i) => i * 100),
        1,
      ),
    ).toBe(0);
    expect(
      residualMser(
        x(100),
        values(100, () => 5e9),
        1,
      ),
    ).toBe(0);
  });

  it("never cuts more than half", () => {
    expect(
      residualMser(
        x(100),
        values(100, (i) => (i < 70 ? i * i : 4900)),
        1,
      ),
    ).toBeLessThanOrEqual(50);
  });
});
