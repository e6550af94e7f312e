import { describe, expect, it } from "vitest";
import { teardownStart, warmupCut } from "./warmup.ts";

const values = (n: number, at: (i: number) => number) => Float64Array.from({ length: n }, (_, i) => at(i));
const x = (n: number) => values(n, (i) => i);

describe("the warm-up cut", () => {
  it("cuts a ramp to a level, and nothing of a line or a constant", () => {
    const cut = warmupCut(
      x(100),
      values(100, (i) => Math.min(i, 20) * 100),
      1,
    );
    expect(cut).toBeGreaterThanOrEqual(18);
    expect(cut).toBeLessThanOrEqual(22);
    expect(
      warmupCut(
        x(100),
        values(100, (i) => i * 100),
        1,
      ),
    ).toBe(0);
    expect(
      warmupCut(
        x(100),
        values(100, () => 5e9),
        1,
      ),
    ).toBe(0);
  });

  it("never cuts more than half", () => {
    expect(
      warmupCut(
        x(100),
        values(100, (i) => (i < 70 ? i * i : 4900)),
        1,
      ),
    ).toBeLessThanOrEqual(50);
  });
});

describe("the tear-down cut", () => {
  const kept = (v: Float64Array) => teardownStart(v, v, 10);

  it("cuts the fall at the very end", () => {
    expect(kept(values(100, (i) => (i < 97 ? 500 : (100 - i) * 100)))).toBe(97);
    expect(kept(values(100, (i) => 500 + (i % 2)))).toBe(100);
  });

  it("cuts an end that is caught half-way, above what a steep rise began with", () => {
    expect(kept(values(200, (i) => (i < 199 ? i * 10 : 1600)))).toBe(199);
    expect(kept(values(200, (i) => (i < 198 ? i * 10 : i < 199 ? 1600 : 20)))).toBe(198);
  });

  it("keeps the last fall of a saw-tooth", () => {
    expect(kept(values(200, (i) => i * 10 - (i % 50) * 9))).toBe(200);
    expect(kept(values(201, (i) => i * 2 + (i % 40) * 20))).toBe(201);
  });

  it("keeps a fall that lasts, and a dip that returns", () => {
    expect(kept(values(100, (i) => (i < 80 ? 500 : 100)))).toBe(100);
    expect(kept(values(100, (i) => (i === 95 ? 100 : 500)))).toBe(100);
  });
});
