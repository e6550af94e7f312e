import { describe, expect, it } from "vitest";
import type { MeasuredRun } from "../analysis/measurements.ts";
import { GIB, MIB } from "../core/units.ts";
import { type JudgeInput, judge } from "./judge.ts";
import { DEFAULT_POLICY } from "./model/defaults.ts";
import type { JudgementDocument } from "./model/judgement.ts";
import { judgementDocument } from "./model/judgement-document.ts";
import { measured, nights, runOf } from "./testing/measurements.ts";

const BASE = measured(nights(10, { peak_bytes: GIB }));

function ask(candidate: readonly MeasuredRun[], more: Partial<JudgeInput> = {}): JudgementDocument {
  const input = { candidate: measured(candidate), baseline: BASE, anchor: null, policy: DEFAULT_POLICY };
  return judgementDocument(judge({ ...input, baseRunsPossible: true, ...more }));
}

describe("base runs of the same session against a breach", () => {
  it("one base run is not enough to blame the machine", () => {
    const near = [1, 2, 3, 4, 5, 6].map(() => runOf("pr", { peak_bytes: GIB + 12 * MIB }));
    const withBase = (...above: readonly number[]) =>
      ask(near, {
        baseline: measured([...BASE.runs, ...above.map((more) => runOf("pr", { peak_bytes: GIB + more * MIB }))]),
      });
    expect(withBase(8)).toMatchObject({ verdict: "pass", final: false, needs_base_runs: 2 });
    expect(withBase(8, 0, 0)).toMatchObject({ verdict: "fail", final: true, confirmed: true });
    expect(withBase(8, 9, 8)).toMatchObject({ verdict: "pass", final: true });
  });

  it("three more base runs are asked for when one of three reaches the change's level", () => {
    const near = [1, 2, 3, 4, 5, 6].map(() => runOf("pr", { peak_bytes: GIB + 12 * MIB }));
    const withBase = (...above: readonly number[]) =>
      ask(near, {
        baseline: measured([...BASE.runs, ...above.map((more) => runOf("pr", { peak_bytes: GIB + more * MIB }))]),
      });
    expect(withBase(0, 12, 0)).toMatchObject({ verdict: "pass", final: false, needs_base_runs: 3 });
    expect(withBase(0, 12, 0, 0, 0, 0)).toMatchObject({ verdict: "fail", final: true, confirmed: true });
    expect(withBase(0, 12, 0, 12, 0, 0)).toMatchObject({ verdict: "pass", final: true });
  });

  describe("where the baseline's sessions differ", () => {
    const offsets = [-10, -8, -5, -3, -1, 1, 3, 5, 8, 10];
    const baseline = measured(offsets.map((o, i) => runOf(`night-${i}`, { peak_bytes: GIB + o * MIB })));
    const near = Array.from({ length: 6 }, () => runOf("pr", { peak_bytes: GIB + 24 * MIB }));

    it("a change that a new session may reach without a cause only warns, and still asks for base runs", () => {
      const judgement = ask(near, { baseline });
      expect(judgement).toMatchObject({ verdict: "warn", final: false, needs_base_runs: 3 });
      expect(judgement.reason).toContain("sessions of the baseline differ");
      expect(ask(near, { baseline, baseRunsPossible: false })).toMatchObject({ verdict: "warn", final: true });
    });

    it("the base runs decide between fail and pass once they were made", () => {
      const runs = (more: number) => [1, 2, 3].map(() => runOf("pr", { peak_bytes: GIB + more * MIB }));
      const withBase = (more: number) => ask(near, { baseline: measured([...baseline.runs, ...runs(more)]) });
      expect(withBase(0)).toMatchObject({ verdict: "fail", final: true, confirmed: true });
      expect(withBase(24)).toMatchObject({ verdict: "pass", final: true });
    });

    it("a change above the spread of sessions fails without base runs too", () => {
      const far = near.map(() => runOf("pr", { peak_bytes: GIB + 80 * MIB }));
      const judgement = ask(far, { baseline, baseRunsPossible: false });
      expect(judgement).toMatchObject({ verdict: "fail", final: true, confirmed: false });
    });
  });
});
