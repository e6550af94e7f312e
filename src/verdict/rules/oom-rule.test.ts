import { describe, expect, it } from "vitest";
import type { MeasuredRun, Measurements } from "../../analysis/measurements.ts";
import { GIB } from "../../core/units.ts";
import { judge } from "../judge.ts";
import { DEFAULT_POLICY } from "../model/defaults.ts";
import { judgementDocument } from "../model/judgement-document.ts";
import { measured, nights, runOf } from "../testing/measurements.ts";

const BASE = measured(nights(10, { peak_bytes: GIB }));

const ask = (run: MeasuredRun, baseline: Measurements | null) =>
  judgementDocument(
    judge({ candidate: measured([run]), baseline, anchor: null, policy: DEFAULT_POLICY, baseRunsPossible: true }),
  );

describe("a run that ran out of memory", () => {
  it("fails at once, whatever there is to compare with", () => {
    const judgement = ask({ ...runOf("pr", { peak_bytes: GIB }), oom: true }, null);
    expect(judgement).toMatchObject({ verdict: "fail", final: true, confirmed: true });
    expect(judgement.checks).toMatchObject([{ aspect: "oom", limit: "budget", gating: true, candidate_bytes: GIB }]);
    expect(judgement.reason).toContain("ran out of memory in 1 of 1 run");
  });

  it("an out-of-memory run has no check of peak or growth", () => {
    const judgement = ask({ ...runOf("pr", { peak_bytes: 2 * GIB }), oom: true }, BASE);
    expect(judgement).toMatchObject({ verdict: "fail", final: true });
    expect(judgement.checks.map(({ aspect }) => aspect)).toEqual(["oom"]);
  });

  it("fails when it has no samples", () => {
    const judgement = ask({ session: "pr", commit: null, series: [], oom: true }, BASE);
    expect(judgement.verdict).toBe("fail");
    expect(judgement.checks).toMatchObject([{ aspect: "oom", candidate_bytes: null }]);
  });

  it("a suspected out-of-memory error only warns, and the run is judged like any other", () => {
    const judgement = ask({ ...runOf("pr", { peak_bytes: GIB }), oom_suspected: true }, BASE);
    expect(judgement).toMatchObject({ verdict: "warn", confirmed: false });
    expect(judgement.checks.map(({ aspect, verdict }) => [aspect, verdict])).toEqual([
      ["oom", "warn"],
      ["peak", "pass"],
    ]);
  });
});
