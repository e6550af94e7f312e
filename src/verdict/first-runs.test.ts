import { describe, expect, it } from "vitest";
import type { MeasuredRun } from "../analysis/measurements.ts";
import { GIB, MIB } from "../core/units.ts";
import { type JudgeInput, judge } from "./judge.ts";
import { DEFAULT_POLICY } from "./model/defaults.ts";
import { judgementDocument } from "./model/judgement-document.ts";
import { measured, nights, runOf } from "./testing/measurements.ts";

/** Judges peaks in GiB with `stored` runs in the baseline, until no run is asked for. */
function judged(candidate: (k: number) => number, base: (k: number) => number, stored = 2) {
  const runs = [runOf("pr", { peak_bytes: Math.round(GIB * candidate(0)) })];
  const known = nights(stored, { peak_bytes: GIB });
  const baseRuns: MeasuredRun[] = [];
  for (;;) {
    const judgement = judgementDocument(
      judge({
        candidate: measured(runs),
        baseline: measured(known),
        baseRuns,
        anchor: null,
        policy: DEFAULT_POLICY,
        baseRunsPossible: true,
      }),
    );
    const { verdict, confirmed, reason, checks } = judgement;
    if (judgement.final)
      return { verdict, confirmed, runs: [runs.length, baseRuns.length], reason: checks[0]?.reason ?? reason };
    if (judgement.needs_more_runs > 0) runs.push(runOf("pr", { peak_bytes: Math.round(GIB * candidate(runs.length)) }));
    else baseRuns.push(runOf("pr", { peak_bytes: Math.round(GIB * base(baseRuns.length)) }));
    expect(runs.length + baseRuns.length).toBeLessThanOrEqual(10);
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

const ask = (candidate: readonly MeasuredRun[], input: Partial<JudgeInput>) =>
  judgementDocument(
    judge({
      candidate: measured(candidate),
      baseline: null,
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: false,
      ...input,
    }),
  );
const repeated = (count: number, run: MeasuredRun) => Array.from({ length: count }, () => run);
const plain = runOf("pr", { peak_bytes: GIB, growth_bytes: 0, class: "flat" });
const leak = runOf("pr", { peak_bytes: GIB, growth_bytes: 100 * MIB, class: "leak" });

describe("a leak without a complete baseline", () => {
  const flat = nights(4, { peak_bytes: GIB, growth_bytes: 0, class: "flat" });

  it("a leak fails after two runs where the base commit leaks too, as it does without a run of the base", () => {
    for (const stored of [0, 1, 4]) {
      const baseline = stored === 0 ? null : measured(flat.slice(0, stored));
      for (const made of [0, 1, 5]) {
        for (const baseRunsPossible of [true, false]) {
          const input = { baseline, baseRuns: repeated(made, leak), baseRunsPossible };
          expect(ask([leak, leak], input)).toMatchObject({ verdict: "fail", confirmed: true, final: true });
        }
      }
    }
  });

  it("a leak of a heap that a collector empties fails where the base commit leaks too", () => {
    const node = {
      device: "host",
      metric: "js_heap",
      peak_bytes: GIB,
      growth_bytes: 100 * MIB,
      class: "leak",
    } as const;
    const { checks } = ask(repeated(2, runOf("pr", node)), { baseRuns: repeated(5, runOf("pr", node)) });
    expect(checks.filter(({ verdict }) => verdict === "fail").map(({ aspect }) => aspect)).toEqual(["class"]);
  });

  it("a leak that runs of an incomplete baseline have warns, as it does without a run of the base", () => {
    const leaky = nights(2, { peak_bytes: GIB, growth_bytes: 100 * MIB, class: "leak" });
    for (const baseRuns of [[], repeated(1, leak)]) {
      const { checks } = ask([leak, leak], { baseline: measured(leaky), baseRuns });
      expect(checks.find(({ aspect }) => aspect === "class")).toMatchObject({ verdict: "warn" });
    }
  });

  it("a leak passes where the baseline is complete and leaks as much", () => {
    const leaky = nights(5, { peak_bytes: GIB, growth_bytes: 100 * MIB, class: "leak" });
    expect(ask([leak], { baseline: measured(leaky) })).toMatchObject({ verdict: "pass", final: true });
  });
});

describe("accepted runs of the candidate's session", () => {
  it("up to four are no runs of the base commit, so nothing is judged until that runs", () => {
    for (const count of [1, 4]) {
      const baseline = measured(repeated(count, plain));
      expect(ask([plain], { baseline })).toMatchObject({ verdict: "unjudged", final: true, needs_base_runs: 0 });
      expect(ask([plain], { baseline, baseRunsPossible: true })).toMatchObject({ final: false, needs_base_runs: 1 });
      const judged = ask([plain], { baseline, baseRuns: [plain], baseRunsPossible: true });
      expect(judged).toMatchObject({ verdict: "pass", final: true });
      expect(judged.checks[0]?.reason).toContain(`${5 - count} more run`);
    }
  });

  it("five are a complete baseline, and runs of the base commit do not make it one", () => {
    const five = ask([plain], { baseline: measured(repeated(5, plain)) });
    expect(five).toMatchObject({ verdict: "pass", final: true });
    expect(five.checks[0]?.reason).not.toContain("complete the baseline");
    const mixed = ask([plain], { baseline: measured(repeated(1, plain)), baseRuns: repeated(5, plain) });
    expect(mixed.checks[0]?.reason).toContain("4 more runs complete the baseline");
  });
});
