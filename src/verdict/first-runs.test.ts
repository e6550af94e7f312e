import { describe, expect, it } from "vitest";
import { GIB } from "../core/units.ts";
import { judge } from "./judge.ts";
import { DEFAULT_POLICY } from "./model/defaults.ts";
import { judgementDocument } from "./model/judgement-document.ts";
import { measured, nights, runOf } from "./testing/measurements.ts";

/** Judges peaks in GiB with `stored` runs in the baseline, until no run is asked for. */
function judged(candidate: (k: number) => number, base: (k: number) => number, stored = 2) {
  const runs = [runOf("pr", { peak_bytes: Math.round(GIB * candidate(0)) })];
  const known = [...nights(stored, { peak_bytes: GIB })];
  for (let baseRuns = 0; ; ) {
    const judgement = judgementDocument(
      judge({
        candidate: measured(runs),
        baseline: measured(known),
        anchor: null,
        policy: DEFAULT_POLICY,
        baseRunsPossible: true,
      }),
    );
    const { verdict, confirmed, reason, checks } = judgement;
    if (judgement.final)
      return { verdict, confirmed, runs: [runs.length, baseRuns], reason: checks[0]?.reason ?? reason };
    if (judgement.needs_more_runs > 0) runs.push(runOf("pr", { peak_bytes: Math.round(GIB * candidate(runs.length)) }));
    else known.push(runOf("pr", { peak_bytes: Math.round(GIB * base(baseRuns++)) }));
    expect(runs.length + baseRuns).toBeLessThanOrEqual(10);
  }
}

describe("a baseline of one to four runs", () => {
  it("a run like the base commit's in this session passes, and the report counts the missing runs", () => {
    const { reason, ...rest } = judged(
      () => 1.5,
      () => 1.5,
    );
    expect(rest).toEqual({ verdict: "pass", confirmed: false, runs: [1, 1] });
    expect(reason).toContain("3 more runs complete the baseline");
  });

  it("a rise by half fails after three runs of each, and one by a twentieth after five", () => {
    for (const stored of [1, 4]) {
      const far = judged(
        () => 1.5,
        () => 1,
        stored,
      );
      expect(far).toMatchObject({ verdict: "fail", confirmed: true, runs: [3, 3] });
    }
    const near = judged(
      (k) => 1.05 + 0.002 * k,
      (k) => 1 + 0.003 * k,
    );
    expect(near).toMatchObject({ verdict: "fail", confirmed: true, runs: [5, 5] });
  });

  it("a rise that is as wide as the runs differ warns, and one that the base reaches passes", () => {
    const wide = judged(
      (k) => 1.06 + 0.01 * k,
      (k) => 1 + 0.01 * k,
    );
    expect(wide).toMatchObject({ verdict: "warn", confirmed: false, runs: [5, 5] });
    const reached = judged(
      () => 1.05,
      (k) => (k === 2 ? 1.06 : 1),
    );
    expect(reached.verdict).toBe("pass");
  });
});
