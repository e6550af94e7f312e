import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  bracket,
  MAX_UNJUDGED,
  nextStep,
  type SearchBounds,
  type SearchStep,
  type Seen,
  type Sight,
} from "./scale-search.ts";

interface Found {
  readonly seen: readonly Seen[];
  readonly end: Exclude<SearchStep, { readonly kind: "probe" }>;
}

/** Search against an oracle, with a constant hint. */
function searchSights(oracle: (value: number) => Sight, bounds: SearchBounds, hint: number | null = null): Found {
  const seen: Seen[] = [];
  for (let tries = 0; tries <= 1000; tries += 1) {
    const step = nextStep(seen, bounds, hint);
    if (step.kind !== "probe") return { seen, end: step };
    seen.push({ value: step.value, sight: oracle(step.value) });
  }
  throw new Error("the search does not end");
}

/** The same with an oracle that judges every size. */
function search(oracle: (value: number) => boolean, bounds: SearchBounds, hint: number | null = null): Found {
  return searchSights((value) => (oracle(value) ? "visible" : "silent"), bounds, hint);
}

/**
 * Maximum number of sizes of a search if each can be judged: steps that double their exponent, steps of sixteen, then
 * halving.
 */
function maxProbes({ from, to, factor }: SearchBounds): number {
  const doublings = Math.ceil(Math.log2(Math.max(1, Math.log(16) / Math.log(factor)))) + 1;
  const long = Math.ceil(Math.log(to / from) / Math.log(16)) + 1;
  return 1 + doublings + long + doublings + 1;
}

const BOUNDS: SearchBounds = { from: 4, to: 10_240, factor: 1.25 };

const bounds = fc
  .tuple(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 0, max: 1_000_000 }), fc.constantFrom(1.1, 1.25, 2))
  .map(([from, more, factor]): SearchBounds => ({ from, to: from + more, factor }));
const hints = fc.option(fc.double({ min: 0.01, max: 1e9, noNaN: true }), { nil: null });

describe("the search for the smallest visible size", () => {
  it("needs two sizes when the hint is right", () => {
    const { seen, end } = search((value) => value >= 60, BOUNDS, 64);
    expect(seen.map(({ value }) => value)).toEqual([64, 52]);
    expect(end).toEqual({ kind: "visible", at: 64, below: 52 });
  });

  it("finds the boundary to within the factor for any hint", () => {
    fc.assert(
      fc.property(bounds, hints, fc.integer({ min: 1, max: 2_000_000 }), (limits, hint, threshold) => {
        const { end } = search((value) => value >= threshold, limits, hint);
        switch (end.kind) {
          case "always":
            expect(end.at).toBe(limits.from);
            expect(threshold).toBeLessThanOrEqual(limits.from);
            break;
          case "never":
            expect(end.to).toBe(limits.to);
            expect(threshold).toBeGreaterThan(limits.to);
            break;
          case "unjudged":
            throw new Error("every size was judged");
          case "visible":
            expect(end.at).toBeGreaterThanOrEqual(threshold);
            expect(end.below).toBeLessThan(threshold);
            expect(end.at - end.below <= 1 || end.at <= end.below * limits.factor).toBe(true);
        }
      }),
    );
  });

  it("ends within its bounds and its number of sizes, and tries none twice, even for random answers", () => {
    fc.assert(
      fc.property(bounds, hints, fc.infiniteStream(fc.boolean()), (limits, hint, lots) => {
        const { seen, end } = search(() => lots.next().value, limits, hint);
        expect(new Set(seen.map(({ value }) => value)).size).toBe(seen.length);
        expect(seen.length).toBeLessThanOrEqual(maxProbes(limits));
        for (const { value } of seen) {
          expect(Number.isInteger(value)).toBe(true);
          expect(value).toBeGreaterThanOrEqual(limits.from);
          expect(value).toBeLessThanOrEqual(limits.to);
        }
        // For random answers the visible size was visible and the silent one silent.
        if (end.kind !== "visible") return;
        expect(seen).toContainEqual({ value: end.at, sight: "visible" });
        expect(seen).toContainEqual({ value: end.below, sight: "silent" });
      }),
    );
  });

  it("ends near the true boundary when the gate errs only next to it", () => {
    // Within a tenth of the boundary the answer is random.
    fc.assert(
      fc.property(hints, fc.integer({ min: 40, max: 5000 }), fc.infiniteStream(fc.boolean()), (hint, place, lots) => {
        const oracle = (value: number): boolean => {
          const ratio = value / place;
          return ratio > 0.9 && ratio < 1.1 ? lots.next().value : ratio >= 1;
        };
        const { end } = search(oracle, BOUNDS, hint);
        if (end.kind !== "visible") throw new Error(end.kind);
        expect(end.at / place).toBeGreaterThan(0.9);
        expect(end.below / place).toBeLessThan(1.1);
        expect(end.at / place).toBeLessThan(1.1 * BOUNDS.factor + 0.1);
      }),
    );
  });

  it("ignores a size that was visible below a silent one", () => {
    expect(
      bracket([
        { value: 10, sight: "visible" },
        { value: 20, sight: "silent" },
        { value: 40, sight: "visible" },
      ]),
    ).toEqual({ silent: 20, visible: 40 });
    const lucky: readonly Seen[] = [
      { value: 10, sight: "visible" },
      { value: 20, sight: "silent" },
    ];
    expect(nextStep(lucky, BOUNDS, null)).toMatchObject({ kind: "probe" });
    const step = nextStep(lucky, BOUNDS, null);
    expect(step.kind === "probe" && step.value).toBeGreaterThan(20);
  });

  it("needs few sizes over a range of thousands", () => {
    expect(maxProbes(BOUNDS)).toBeLessThanOrEqual(18);
    for (const place of [5, 70, 900, 9000])
      expect(search((value) => value >= place, BOUNDS).seen.length).toBeLessThan(14);
  });
});

describe("a size that could not be judged", () => {
  const seesFrom =
    (place: number, unjudged: (value: number) => boolean) =>
    (value: number): Sight =>
      unjudged(value) ? "unjudged" : value >= place ? "visible" : "silent";

  it("an unjudged size is neither side of the boundary: the search continues beside it", () => {
    const { seen, end } = searchSights(
      seesFrom(60, (value) => value === 52),
      BOUNDS,
      64,
    );
    expect(seen.slice(0, 2)).toEqual([
      { value: 64, sight: "visible" },
      { value: 52, sight: "unjudged" },
    ]);
    if (end.kind !== "visible") throw new Error(end.kind);
    expect(seen).toContainEqual({ value: end.below, sight: "silent" });
    expect(end.at).toBeLessThanOrEqual(end.below * BOUNDS.factor);
  });

  it("a size too short to be judged is skipped when the boundary is above", () => {
    const { end } = searchSights(
      seesFrom(60, (value) => value < 16),
      BOUNDS,
      10,
    );
    expect(end).toMatchObject({ kind: "visible" });
  });

  it("the search lists the unjudged sizes when the boundary is among them", () => {
    const tooShort = searchSights(
      seesFrom(10, (value) => value < 16),
      BOUNDS,
      64,
    );
    if (tooShort.end.kind !== "unjudged") throw new Error(tooShort.end.kind);
    for (const value of tooShort.end.values) expect(value).toBeLessThan(16);
    expect(
      searchSights(
        seesFrom(1, (value) => value === 4),
        { from: 4, to: 5, factor: 1.25 },
        4,
      ).end,
    ).toEqual({ kind: "unjudged", values: [4] });
  });

  it("an unjudged size at the upper bound does not count as silent", () => {
    const { end } = searchSights(
      seesFrom(1e9, (value) => value === 9),
      { from: 4, to: 9, factor: 1.25 },
      8,
    );
    expect(end).toEqual({ kind: "unjudged", values: [9] });
  });

  it("the search ends when there are too many unjudged sizes", () => {
    const { seen, end } = searchSights(() => "unjudged", { from: 1, to: 1_000_000, factor: 1.25 }, 64);
    expect(seen.length).toBeLessThanOrEqual(MAX_UNJUDGED);
    expect(end).toMatchObject({ kind: "unjudged" });
  });

  it("an unjudged size is never part of an answer, and no size is tried twice", () => {
    const sights = fc.infiniteStream(fc.constantFrom<Sight>("visible", "silent", "silent", "visible", "unjudged"));
    fc.assert(
      fc.property(bounds, hints, sights, (limits, hint, lots) => {
        const { seen, end } = searchSights(() => lots.next().value, limits, hint);
        expect(new Set(seen.map(({ value }) => value)).size).toBe(seen.length);
        // Each size that cannot be judged may cost a few more beside it.
        expect(seen.length).toBeLessThanOrEqual(maxProbes(limits) + 6 * MAX_UNJUDGED);
        for (const { value } of seen) {
          expect(value).toBeGreaterThanOrEqual(limits.from);
          expect(value).toBeLessThanOrEqual(limits.to);
        }
        switch (end.kind) {
          case "visible":
            expect(seen).toContainEqual({ value: end.at, sight: "visible" });
            expect(seen).toContainEqual({ value: end.below, sight: "silent" });
            expect(end.at - end.below <= 1 || end.at <= end.below * limits.factor).toBe(true);
            break;
          case "always":
            expect(seen).toContainEqual({ value: end.at, sight: "visible" });
            break;
          case "never":
            expect(seen).toContainEqual({ value: end.to, sight: "silent" });
            break;
          case "unjudged":
            expect(end.values.length).toBeGreaterThan(0);
            for (const value of end.values) expect(seen).toContainEqual({ value, sight: "unjudged" });
        }
      }),
    );
  });
});
