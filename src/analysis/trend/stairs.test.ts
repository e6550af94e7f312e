import { describe, expect, it } from "vitest";
import { prng } from "../../stats/testing/prng.ts";
import { climbsStairs } from "./stairs.ts";

const MIB = 1024 ** 2;
const climb = (times: readonly number[], size: (k: number) => number = () => 20, noise = 0) => {
  const random = prng(1);
  return Float64Array.from(
    { length: 100 },
    (_, i) =>
      MIB * (500 + noise * random.normal() + times.reduce((sum, at, k) => sum + (i > 100 * at ? size(k) : 0), 0)),
  );
};
const climbs = (y: Float64Array) => climbsStairs(y, MIB / 2);

describe("stairs", () => {
  it("stairs are found at any times that look uniformly drawn, with and without noise", () => {
    expect(climbs(climb([0.05, 0.3, 0.34, 0.9]))).toBe("leak");
    expect(climbs(climb([0.2, 0.25, 0.5, 0.71, 0.72, 0.95]))).toBe("leak");
    expect(climbs(climb([0.1, 0.35, 0.6, 0.9], () => 20, 0.5))).toBe("leak");
  });

  it("stairs may be two between two neighbouring points, and of different heights", () => {
    expect(climbs(climb([0.1, 0.4, 0.4, 0.7, 0.9]))).toBe("leak");
    expect(climbs(climb([0.1, 0.3, 0.45, 0.6, 0.9], (k) => [17, 31, 23, 28, 20][k]!))).toBe("leak");
  });

  it("stairs are not found in a series that fills up early and rests, or that begins late", () => {
    expect(climbs(climb([0.05, 0.1, 0.2, 0.3]))).toBeNull();
    expect(climbs(climb([0.1, 0.2, 0.3, 0.4, 0.45]))).toBeNull();
    expect(climbs(climb([0.7, 0.8, 0.9, 0.95]))).toBeNull();
  });

  it("stairs are at most rising after a rest of more than a quarter, and ended after twice the longest gap", () => {
    expect(climbs(climb([0.05, 0.3, 0.5, 0.7]))).toBe("rising");
    expect(climbs(climb([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65]))).toBeNull();
  });

  it("stairs are not found in three jumps, in two large ones, or in a series that also falls", () => {
    expect(climbs(climb([0.2, 0.5, 0.9]))).toBeNull();
    expect(climbs(climb([0.1, 0.3, 0.5, 0.7, 0.9], (k) => (k % 2 === 0 ? 5 : 60)))).toBeNull();
    const falling = climb([0.1, 0.35, 0.6, 0.9]).map((value, i) => value - (i > 70 ? 10 * MIB : 0));
    expect(climbs(falling)).toBeNull();
  });

  it("stairs are not found in noise", () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = prng(seed);
      expect(climbs(Float64Array.from({ length: 100 }, () => 5 * MIB * random.normal()))).toBeNull();
    }
  });
});
