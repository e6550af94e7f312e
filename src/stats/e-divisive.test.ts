import { describe, expect, it } from "vitest";
import { changePoints } from "./e-divisive.ts";
import { type Prng, prng } from "./testing/prng.ts";

const drawn = (n: number, seed: number, level: (i: number, random: Prng) => number): Float64Array => {
  const random = prng(seed);
  return Float64Array.from({ length: n }, (_, i) => level(i, random));
};
const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1);

describe("E-divisive", () => {
  it("a step of 10 % in noise of 1 % is located at its first value", () => {
    const found = SEEDS.map((seed) => changePoints(drawn(60, seed, (i, r) => (i < 35 ? 100 : 110) + r.normal())));
    expect(found.filter((points) => points.includes(35))).toHaveLength(SEEDS.length);
    expect(found.filter((points) => points.length > 1).length).toBeLessThanOrEqual(1);
  });

  it.each<readonly [string, (random: Prng) => number]>([
    ["normal", (r) => r.normal()],
    ["of two levels", (r) => (r.uniform() < 0.3 ? 3 : 0) + 0.2 * r.normal()],
    ["with outliers", (r) => r.normal() / Math.max(0.1, r.uniform())],
  ])("noise that is %s has a change point in less than one of a hundred series", (_, noise) => {
    const changed = Array.from({ length: 400 }, (_, seed) =>
      changePoints(drawn(60, seed + 1, (_, r) => 100 + noise(r))),
    ).filter((points) => points.length > 0);
    expect(changed.length).toBeLessThan(4);
  });

  it("a change for a while has both of its ends", () => {
    const values = drawn(120, 3, (i, r) => (i >= 60 && i < 70 ? 110 : 100) + r.normal());
    expect(changePoints(values)).toEqual([60, 70]);
  });

  it("a change beyond the first window is located", () => {
    expect(changePoints(drawn(300, 4, (i, r) => (i < 222 ? 100 : 95) + r.normal()))).toEqual([222]);
  });

  it("constant values and too few values have no change point", () => {
    expect(changePoints(new Float64Array(80).fill(7))).toEqual([]);
    expect(changePoints(Float64Array.of(1, 1, 1, 1, 9, 9, 9, 9))).toEqual([]);
    expect(changePoints(new Float64Array(0))).toEqual([]);
  });

  it("a step of constant values is located however small it is", () => {
    expect(changePoints(drawn(40, 1, (i) => (i < 17 ? 1e9 : 1e9 + 512)))).toEqual([17]);
  });
});
