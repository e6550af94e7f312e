import { describe, expect, it } from "vitest";
import { GIB, MIB } from "../core/units.ts";
import { judge } from "./judge.ts";
import { DEFAULT_POLICY } from "./model/defaults.ts";
import { judgementDocument } from "./model/judgement-document.ts";
import { measured, nights, runOf } from "./testing/measurements.ts";

const FLAT = { peak_bytes: GIB, growth_bytes: 0, class: "flat" } as const;
const run = (growth: number) =>
  runOf("pr", { peak_bytes: GIB, growth_bytes: growth * MIB, class: growth >= 16 ? "leak" : "flat" });

/** Measures runs of these growths in turn, MiB, and the flat base, until the judgement is final. */
function judged(growths: readonly number[], hasBaseline = true) {
  const stored = hasBaseline ? [...nights(10, FLAT)] : null;
  for (let made = 1; ; ) {
    const judgement = judgementDocument(
      judge({
        candidate: measured(growths.slice(0, made).map(run)),
        baseline: stored && measured(stored),
        anchor: null,
        policy: DEFAULT_POLICY,
        baseRunsPossible: stored !== null,
      }),
    );
    if (judgement.final) return { verdict: judgement.verdict, made };
    if (judgement.needs_more_runs > 0) made += 1;
    else stored?.push(runOf("pr", FLAT));
    expect(made).toBeLessThanOrEqual(growths.length);
  }
}

describe("a leak whose rate differs from run to run", () => {
  it("a leak fails with one slow run among many, wherever it comes after the first", () => {
    for (let slow = 1; slow < 4; slow += 1) {
      const growths = [40, 25, 90, 30, 60, 50].map((growth, k) => (k === slow ? 5 : growth));
      expect(judged(growths).verdict).toBe("fail");
      expect(judged(growths, false).verdict).toBe("fail");
    }
  });

  it("a second run within the limit clears a leak, and so does the first", () => {
    expect(judged([40, 5, 5, 40, 40, 40])).toMatchObject({ verdict: expect.stringMatching(/pass|warn/), made: 3 });
    expect(judged([5, 40, 40, 40, 40, 40])).toEqual({ verdict: "pass", made: 1 });
    expect(judged([40, 5, 5, 40, 40, 40], false)).toMatchObject({ verdict: "unjudged", made: 3 });
  });
});
