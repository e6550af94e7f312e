import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { draws } from "../core/testing/draws.ts";
import { medianOfSketches, medianSketch } from "./median-sketch.ts";

const sizes = fc.array(fc.integer({ min: 1, max: 2 ** 40 }), { minLength: 1, maxLength: 60 });

describe("medianOfSketches", () => {
  it("returns the exact median of exact sketches and one part in four thousand of binned ones", () => {
    fc.assert(
      fc.property(fc.array(sizes, { minLength: 1, maxLength: 5 }), (all) => {
        const kept = Number(medianOfSketches(all.map((one) => medianSketch(one, Number.POSITIVE_INFINITY))));
        const sorted = all.flat().sort((a, b) => a - b);
        const [low, high] = [sorted[(sorted.length - 1) >> 1] ?? 0, sorted[sorted.length >> 1] ?? 0];
        expect(kept).toBe(Math.floor((low + high) / 2));
        const counted = Number(medianOfSketches(all.map((one) => medianSketch(one, 0))));
        expect(counted).toBeGreaterThanOrEqual(Math.floor(low * (1 - 1 / 4000)));
        expect(counted).toBeLessThanOrEqual(Math.ceil(low * (1 + 1 / 4000)));
      }),
      { numRuns: draws(200) },
    );
  });

  it("needs few bins for many values of nearly one size", () => {
    const many = medianSketch(
      Array.from({ length: 20_000 }, (_, i) => 5_000_000 + ((i * 7919) % 100_003)),
      512,
    );
    expect(many.kind === "counted" && many.sizes.length).toBeLessThan(200);
    expect(medianOfSketches([])).toBe(0n);
  });
});
