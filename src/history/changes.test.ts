import { describe, expect, it } from "vitest";
import { type Prng, prng } from "../stats/testing/prng.ts";
import { changesOf } from "./changes.ts";

const LEAST = (level: number): number => 0.01 * level;
const SEEDS = Array.from({ length: 10 }, (_, i) => i + 1);

function drawn(n: number, seed: number, level: (i: number) => number, noise = (r: Prng) => 1 + 0.01 * r.normal()) {
  const random = prng(seed);
  return Float64Array.from({ length: n }, (_, i) => level(i) * noise(random));
}
/** 20 times +0.4 % from index 30 on. */
const creep = (i: number): number => 100 * 1.004 ** Math.min(20, Math.max(0, i - 29));

describe("the changes of a series", () => {
  it("a step of 10 % has the levels before and after it", () => {
    for (const seed of SEEDS) {
      const changes = changesOf(
        drawn(60, seed, (i) => (i < 35 ? 100 : 110)),
        LEAST,
      );
      const step = changes.find(({ at }) => at === 35);
      expect(step).toMatchObject({ kind: "step", from: 34, before: expect.closeTo(100, -0.5) });
      expect(step!.after).toBeCloseTo(110, -0.5);
    }
  });

  it("20 times +0.4 % in noise of 1 % is located, as one creep in most series", () => {
    const found = SEEDS.map((seed) => changesOf(drawn(80, seed, creep), LEAST));
    for (const changes of found) {
      expect(changes.length).toBeGreaterThan(0);
      for (const { from, at, before, after } of changes) {
        expect(after).toBeGreaterThan(before);
        expect(from).toBeGreaterThanOrEqual(25);
        expect(at).toBeLessThanOrEqual(54);
      }
    }
    const creeps = found.filter((changes) => changes.length === 1 && changes[0]!.kind === "creep");
    expect(creeps.length).toBeGreaterThanOrEqual(8);
  });

  it("steps that are each too small are one creep when their sum is not", () => {
    const stairs = drawn(
      160,
      1,
      (i) => creep(30 + Math.floor((i - 20) / 6)),
      () => 1,
    );
    const changes = changesOf(stairs, LEAST);
    expect(changes).toMatchObject([{ kind: "creep", before: 100 }]);
    expect(changes[0]!.after).toBeCloseTo(108.3, 1);
  });

  it("two steps are not a creep", () => {
    for (const seed of SEEDS) {
      const changes = changesOf(
        drawn(90, seed, (i) => (i < 30 ? 100 : i < 60 ? 105 : 110)),
        LEAST,
      );
      expect(changes.map(({ kind }) => kind)).toEqual(["step", "step"]);
    }
  });

  it("a change below the smallest one is left out, and the levels around it become one", () => {
    const changes = changesOf(
      drawn(
        60,
        1,
        (i) => (i < 20 ? 100 : i < 40 ? 100.5 : 120),
        () => 1,
      ),
      LEAST,
    );
    expect(changes).toMatchObject([{ from: 39, at: 40, before: 100.25, after: 120 }]);
  });

  it("noise has no change", () => {
    const changed = Array.from({ length: 200 }, (_, seed) =>
      changesOf(
        drawn(80, seed + 1, () => 100),
        LEAST,
      ),
    ).filter((changes) => changes.length > 0);
    expect(changed.length).toBeLessThanOrEqual(1);
  });
});
