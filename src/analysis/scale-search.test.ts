import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bracket, mostProbes, nextStep, type SearchBounds, type SearchStep, type Seen } from "./scale-search.ts";

interface Found {
  readonly seen: readonly Seen[];
  readonly end: Exclude<SearchStep, { readonly kind: "probe" }>;
}

/** Search against an oracle, with one hint throughout. */
function search(oracle: (value: number) => boolean, bounds: SearchBounds, hint: number | null = null): Found {
  const seen: Seen[] = [];
  for (let tries = 0; tries <= 1000; tries += 1) {
    const step = nextStep(seen, bounds, hint);
    if (step.kind !== "probe") return { seen, end: step };
    seen.push({ value: step.value, visible: oracle(step.value) });
  }
  throw new Error("the search does not end");
}

const BOUNDS: SearchBounds = { from: 4, to: 10_240, factor: 1.25 };

const bounds = fc
  .tuple(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 0, max: 1_000_000 }), fc.constantFrom(1.1, 1.25, 2))
  .map(([from, more, factor]): SearchBounds => ({ from, to: from + more, factor }));
const hints = fc.option(fc.double({ min: 0.01, max: 1e9, noNaN: true }), { nil: null });

describe("the search for the smallest visible size", () => {
  it("needs two sizes when theory is right", () => {
    const { seen, end } = search((value) => value >= 60, BOUNDS, 64);
    expect(seen.map(({ value }) => value)).toEqual([64, 52]);
    expect(end).toEqual({ kind: "visible", at: 64, below: 52 });
  });

  it("finds the place to within the factor, whatever theory says", () => {
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
          case "visible":
            expect(end.at).toBeGreaterThanOrEqual(threshold);
            expect(end.below).toBeLessThan(threshold);
            expect(end.at - end.below <= 1 || end.at <= end.below * limits.factor).toBe(true);
        }
      }),
    );
  });

  it("ends within its bounds and its number of sizes, and tries none twice, even if the answers are drawn by lot", () => {
    fc.assert(
      fc.property(bounds, hints, fc.infiniteStream(fc.boolean()), (limits, hint, lots) => {
        const { seen, end } = search(() => lots.next().value, limits, hint);
        expect(new Set(seen.map(({ value }) => value)).size).toBe(seen.length);
        expect(seen.length).toBeLessThanOrEqual(mostProbes(limits));
        for (const { value } of seen) {
          expect(Number.isInteger(value)).toBe(true);
          expect(value).toBeGreaterThanOrEqual(limits.from);
          expect(value).toBeLessThanOrEqual(limits.to);
        }
        // Whatever it says was seen: the visible size visible, the silent one silent.
        if (end.kind !== "visible") return;
        expect(seen).toContainEqual({ value: end.at, visible: true });
        expect(seen).toContainEqual({ value: end.below, visible: false });
      }),
    );
  });

  it("ends near the true place when the gate errs next to it only", () => {
    // Within a tenth of the place either answer comes.
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

  it("takes a size that was visible below a silent one for luck", () => {
    expect(
      bracket([
        { value: 10, visible: true },
        { value: 20, visible: false },
        { value: 40, visible: true },
      ]),
    ).toEqual({ silent: 20, visible: 40 });
    const lucky = [
      { value: 10, visible: true },
      { value: 20, visible: false },
    ];
    expect(nextStep(lucky, BOUNDS, null)).toMatchObject({ kind: "probe" });
    const step = nextStep(lucky, BOUNDS, null);
    expect(step.kind === "probe" && step.value).toBeGreaterThan(20);
  });

  it("needs few sizes over a range of thousands", () => {
    expect(mostProbes(BOUNDS)).toBeLessThanOrEqual(18);
    for (const place of [5, 70, 900, 9000])
      expect(search((value) => value >= place, BOUNDS).seen.length).toBeLessThan(14);
  });
});
