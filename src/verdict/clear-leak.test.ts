import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DriftClass } from "../analysis/series/document.ts";
import { judge } from "./judge.ts";
import { DEFAULT_POLICY } from "./model/defaults.ts";
import { measured, nights, runOf } from "./testing/measurements.ts";

const MIB = 2 ** 20;

interface Change {
  readonly runs: number;
  readonly base?: number;
  readonly growth?: number;
  readonly klass?: DriftClass;
  readonly peak?: number;
  /** Class of the baseline's runs; null = not known. */
  readonly before?: DriftClass | null;
}

/** A change of a program of 1 GiB that keeps nothing, by five runs of its baseline. */
function judged({ runs, base = 0, growth = 100, klass = "leak", peak = 1130, before = "flat" }: Change) {
  const known = before === null ? {} : { class: before };
  const kept = { peak_bytes: 1024 * MIB, growth_bytes: 0, ...known };
  const now = { peak_bytes: peak * MIB, growth_bytes: growth * MIB, class: klass };
  return judge({
    candidate: measured(Array.from({ length: runs }, () => runOf("now", now))),
    baseline: measured([...nights(5, kept), ...Array.from({ length: base }, () => runOf("now", kept))]),
    anchor: null,
    policy: DEFAULT_POLICY,
    baseRunsPossible: true,
  });
}

const wantsBase = { next: { kind: "base-runs" } };
const wantsMore = { next: { kind: "candidate-runs" } };

describe("a leak far above its limit", () => {
  it("takes three runs and one of the base commit, which come before other checks' runs", () => {
    expect(judged({ runs: 2 })).toMatchObject(wantsMore);
    expect(judged({ runs: 3 })).toMatchObject(wantsBase);
    expect(judged({ runs: 3, base: 1 })).toMatchObject({ verdict: "fail", confirmed: true, next: { kind: "done" } });
  });

  it.each([
    ["the runs are no leaks", { klass: "rising" }],
    ["the growth is near its limit", { growth: 30 }],
    ["the baseline leaks", { before: "leak" }],
    ["the classes of the baseline are not known", { before: null }],
  ] satisfies readonly (readonly [string, Partial<Change>])[])("takes more runs where %s", (_, change) => {
    expect(judged({ runs: 3, ...change })).toMatchObject(wantsMore);
  });

  it("a leak far above its limit is not confirmed when a run of the base commit grows as much", () => {
    const grown = { peak_bytes: 1130 * MIB, growth_bytes: 100 * MIB, class: "leak" } as const;
    const judgement = judge({
      candidate: measured(Array.from({ length: 3 }, () => runOf("now", grown))),
      baseline: measured([
        ...nights(5, { peak_bytes: 1024 * MIB, growth_bytes: 0, class: "flat" }),
        runOf("now", grown),
      ]),
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: true,
    });
    expect(judgement.confirmed).toBe(false);
  });
});

describe("a peak far above its limit", () => {
  it("takes as many runs up to a quarter of the peak, because a program may have modes that far", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1100, max: 1270 }), (peak) => {
        expect(judged({ runs: 3, peak, growth: 0, klass: "flat" })).toMatchObject(wantsMore);
        const confirmed = judged({ runs: 5, base: 1, peak, growth: 0, klass: "flat" });
        expect(confirmed).toMatchObject({ verdict: "fail", confirmed: true });
      }),
      { numRuns: 20 },
    );
  });

  it("takes two runs and one of the base beyond that", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1300, max: 1_000_000 }), (peak) => {
        expect(judged({ runs: 1, peak, growth: 0, klass: "flat" })).toMatchObject(wantsMore);
        const confirmed = judged({ runs: 2, base: 1, peak, growth: 0, klass: "flat" });
        expect(confirmed).toMatchObject({ verdict: "fail", confirmed: true });
      }),
      { numRuns: 20 },
    );
  });
});

describe("a fail that no run can confirm", () => {
  it("asks for no runs of other checks, which could not change the verdict", () => {
    const judgement = judge({
      candidate: measured(
        Array.from({ length: 3 }, () =>
          runOf("now", { peak_bytes: 1130 * MIB, growth_bytes: 100 * MIB, class: "leak" }),
        ),
      ),
      baseline: measured(nights(5, { peak_bytes: 1024 * MIB, growth_bytes: 0, class: "flat" })),
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: false,
    });
    expect(judgement).toMatchObject({ verdict: "fail", confirmed: false, next: { kind: "done" } });
  });
});
