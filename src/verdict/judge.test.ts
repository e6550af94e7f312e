import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MeasuredRun } from "../analysis/measurements.ts";
import { draws } from "../core/testing/draws.ts";
import { GIB, MIB } from "../core/units.ts";
import { type JudgeInput, judge } from "./judge.ts";
import { DEFAULT_POLICY } from "./model/defaults.ts";
import type { Aspect, JudgementDocument, Limit } from "./model/judgement.ts";
import { judgementDocument } from "./model/judgement-document.ts";
import { measured, nights, runOf } from "./testing/measurements.ts";

const BASE = measured(nights(10, { peak_bytes: GIB }));
const GROWTHLESS = measured(nights(10, { peak_bytes: GIB, growth_bytes: 0, class: "flat" }));

function ask(candidate: readonly MeasuredRun[], more: Partial<JudgeInput> = {}): JudgementDocument {
  const input = { candidate: measured(candidate), baseline: BASE, anchor: null, policy: DEFAULT_POLICY };
  return judgementDocument(judge({ ...input, baseRunsPossible: true, ...more }));
}

const check = (judgement: JudgementDocument, aspect: Aspect, limit: Limit = "baseline") =>
  judgement.checks.find((one) => one.aspect === aspect && one.limit === limit);

/** Measure what is asked for, always the same, until the judgement is final. */
function measureUntilFinal(
  candidate: MeasuredRun,
  base: MeasuredRun,
  more: Partial<JudgeInput> = {},
): JudgementDocument {
  const runs = [candidate];
  const stored = [...(more.baseline ?? BASE).runs];
  for (let round = 0; round < 30; round += 1) {
    const judgement = ask(runs, { ...more, baseline: measured(stored) });
    if (judgement.final) return judgement;
    for (let i = 0; i < judgement.needs_more_runs; i += 1) runs.push(candidate);
    for (let i = 0; i < judgement.needs_base_runs; i += 1) stored.push(base);
  }
  throw new Error("never final");
}

describe("peak against the baseline", () => {
  it("passes a run equal to a constant baseline, with the detectable change", () => {
    const judgement = ask([runOf("pr", { peak_bytes: GIB })]);
    expect(judgement).toMatchObject({ verdict: "pass", final: true, confirmed: false });
    const peak = check(judgement, "peak");
    expect(peak?.mde_bytes).toBeGreaterThan(5 * MIB);
    expect(peak?.mde_bytes).toBeLessThan(6 * MIB);
    expect(judgement.reason).toContain("would have been detected");
  });

  it("noise below the floor raises no alarm over a baseline without any variance", () => {
    expect(ask([runOf("pr", { peak_bytes: GIB + 2 * MIB })]).verdict).toBe("pass");
    expect(ask([runOf("pr", { peak_bytes: GIB + 512 })]).verdict).toBe("pass");
  });

  it("fails one run above a constant baseline, asks for another, and is not yet confirmed", () => {
    const judgement = ask([runOf("pr", { peak_bytes: GIB + 20 * MIB })]);
    expect(judgement).toMatchObject({ verdict: "fail", final: false, confirmed: false, needs_base_runs: 0 });
    expect(judgement.needs_more_runs).toBeGreaterThan(0);
  });

  it("asks for three base runs in this session once the breach is repeated, and fails only after them", () => {
    const high = runOf("pr", { peak_bytes: GIB + 60 * MIB });
    const asked = ask([high, high, high]);
    expect(asked).toMatchObject({ verdict: "fail", final: false, confirmed: false, needs_base_runs: 3 });
    expect(measureUntilFinal(high, runOf("pr", { peak_bytes: GIB }))).toMatchObject({
      verdict: "fail",
      final: true,
      confirmed: true,
    });
  });

  it("passes when the base commit peaks as high in this session", () => {
    const high = runOf("pr", { peak_bytes: GIB + 60 * MIB });
    const judgement = measureUntilFinal(high, high);
    expect(judgement).toMatchObject({ verdict: "pass", final: true });
    expect(check(judgement, "peak")?.reason).toContain("so is the base commit");
    expect(judgement.reason).toContain("above the baseline's 1.00 GiB, but so is the base commit in this session");
  });

  it("fails unconfirmed when the base cannot run", () => {
    const high = runOf("pr", { peak_bytes: GIB + 60 * MIB });
    const judgement = ask([high, high, high], { baseRunsPossible: false });
    expect(judgement).toMatchObject({ verdict: "fail", final: true, confirmed: false, needs_base_runs: 0 });
  });

  it("needs no base re-run when three sessions and this one are in the baseline", () => {
    const high = runOf("night-0", { peak_bytes: GIB + 60 * MIB });
    const judgement = ask([high, high, high]);
    expect(judgement).toMatchObject({ verdict: "fail", final: true, confirmed: true });
  });

  it("uses baseline runs of the same session as base re-runs", () => {
    const here = measured(Array.from({ length: 5 }, () => runOf("pr", { peak_bytes: GIB })));
    const judgement = measureUntilFinal(runOf("pr", { peak_bytes: GIB + 60 * MIB }), runOf("pr", { peak_bytes: GIB }), {
      baseline: here,
    });
    expect(judgement).toMatchObject({ verdict: "fail", confirmed: true });
  });

  it("passes with the first run at or below the limit", () => {
    const judgement = ask([runOf("pr", { peak_bytes: GIB + 60 * MIB }), runOf("pr", { peak_bytes: GIB })]);
    expect(judgement).toMatchObject({ verdict: "pass", final: true });
  });

  it("passes a level that the baseline reaches too, once a run is at the lower one", () => {
    const modes = measured(
      Array.from({ length: 10 }, (_, i) => runOf(`night-${i}`, { peak_bytes: i < 7 ? GIB : GIB + 40 * MIB })),
    );
    const upper = runOf("pr", { peak_bytes: GIB + 40 * MIB });
    expect(ask([upper], { baseline: modes })).toMatchObject({ verdict: "pass", needs_more_runs: 1 });
    const both = ask([upper, runOf("pr", { peak_bytes: GIB })], { baseline: modes });
    expect(both).toMatchObject({ verdict: "pass", final: true });
    expect(ask([runOf("pr", { peak_bytes: GIB + 80 * MIB })], { baseline: modes }).verdict).toBe("fail");
  });

  it("asks for nothing when no run is possible, and states the false alarm probability", () => {
    const judgement = ask([runOf("pr", { peak_bytes: 2 * GIB })], { moreRunsPossible: false });
    expect(judgement).toMatchObject({ verdict: "fail", final: true, confirmed: false, needs_more_runs: 0 });
    expect(judgement.reason).toMatch(/false alarm probability .* %/);
  });
});

describe("a candidate without a comparable baseline is unjudged", () => {
  it.each([
    ["no baseline", null, "no baseline"],
    ["four baseline runs", measured(nights(4, { peak_bytes: GIB })), "4 runs"],
    ["an empty baseline", measured([]), "does not have this series"],
  ] as const)("a candidate is unjudged with %s", (_, baseline, words) => {
    const judgement = ask([runOf("pr", { peak_bytes: 2 * GIB })], { baseline, baseRunsPossible: false });
    expect(judgement).toMatchObject({ verdict: "unjudged", final: true });
    expect(judgement.reason).toContain(words);
  });

  it("names the identity field that differs, and only lists context fields", () => {
    const from = { device_model: "A100", driver: "550", world_size: 1, mig_profile: null };
    const to = { device_model: "H100", driver: "560", world_size: 1, mig_profile: "1g" };
    const judgement = judge({
      candidate: measured([runOf("pr", { peak_bytes: GIB })], to),
      baseline: measured(BASE.runs, from),
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: true,
    });
    expect(judgement.verdict).toBe("unjudged");
    expect(judgement.reason).toContain("device_model (A100 → H100)");
    expect(judgement.fingerprint.map(({ field, kind }) => [field, kind])).toEqual([
      ["device_model", "identity"],
      ["driver", "context"],
      ["mig_profile", "identity"],
    ]);
  });

  it("compares when an identity field is unknown on one side", () => {
    const judgement = judge({
      candidate: measured([runOf("pr", { peak_bytes: GIB })], { device_model: "H100", driver: "560" }),
      baseline: measured(BASE.runs, { device_model: null, driver: "550" }),
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: true,
    });
    expect(judgement.verdict).toBe("pass");
    expect(judgement.fingerprint).toHaveLength(2);
  });

  it("names a rank that the candidate lost", () => {
    const two = measured(
      nights(6, { peak_bytes: GIB }).map((run) => ({
        ...run,
        series: [...run.series, { rank: 1, device: "cuda:1", metric: "allocated" as const, peak_bytes: GIB }],
      })),
    );
    const judgement = ask([runOf("pr", { peak_bytes: GIB })], { baseline: two });
    expect(judgement.verdict).toBe("unjudged");
    expect(judgement.reason).toContain("rank 1 allocated on cuda:1");
  });

  it.each([[null], [Number.NaN], [Number.POSITIVE_INFINITY]])(
    "a candidate is unjudged with the peak %s",
    (peak_bytes) => {
      expect(ask([runOf("pr", { peak_bytes })]).verdict).toBe("unjudged");
    },
  );

  it("a judgement without any candidate run is unjudged", () => {
    expect(ask([])).toMatchObject({ verdict: "unjudged", final: true });
  });
});

describe("growth and class", () => {
  const leaky = runOf("pr", { peak_bytes: GIB + 300 * MIB, growth_bytes: 300 * MIB, class: "leak" });
  const clean = runOf("pr", { peak_bytes: GIB, growth_bytes: 0, class: "flat" });

  it("fails a leak by growth and class once the base runs are clean", () => {
    const judgement = measureUntilFinal(leaky, clean, { baseline: GROWTHLESS });
    expect(judgement).toMatchObject({ verdict: "fail", confirmed: true });
    expect(check(judgement, "growth")).toMatchObject({ verdict: "fail", gating: true });
    expect(check(judgement, "class")).toMatchObject({
      verdict: "fail",
      candidate_class: "leak",
      baseline_class: "flat",
    });
  });

  it("a candidate is unjudged when only the baseline has a known growth", () => {
    const judgement = ask([runOf("pr", { peak_bytes: GIB })], { baseline: GROWTHLESS });
    expect(judgement.verdict).toBe("unjudged");
    expect(check(judgement, "peak")?.verdict).toBe("pass");
    expect(check(judgement, "growth")?.verdict).toBe("unjudged");
  });

  it.each(["insufficient", "unavailable"] as const)("a series of class %s has no class check", (unknown) => {
    const judgement = ask([runOf("pr", { peak_bytes: GIB, growth_bytes: 0, class: unknown })], {
      baseline: GROWTHLESS,
    });
    expect(check(judgement, "class")).toBeUndefined();
    expect(judgement.checks.map(({ aspect }) => aspect)).toEqual(["peak", "growth"]);
  });

  it("a run that was over while its process started is compared by its peak alone", () => {
    const started = (peak: number) =>
      ask([runOf("pr", { peak_bytes: peak, growth_bytes: 100 * MIB, class: "insufficient" })], {
        baseline: GROWTHLESS,
      });
    expect(started(GIB)).toMatchObject({ verdict: "pass", final: true });
    expect(check(started(GIB), "growth")?.reason).toContain("over while its process started: its peak is compared");
    expect(started(1.2 * GIB).verdict).not.toBe("pass");
  });

  it("a run that was over while its process started keeps a breach of growth in a metric without a peak", () => {
    const outside = { device: "host", metric: "outside_heap", peak_bytes: null } as const;
    const baseline = measured(nights(10, { ...outside, growth_bytes: 0, class: "flat" }));
    const run = runOf("pr", { ...outside, growth_bytes: 100 * MIB, class: "insufficient" });
    // Outside a heap that is not known, growth does not gate.
    expect(check(ask([run, run, run], { baseline }), "growth")).toMatchObject({ gating: false, verdict: "warn" });
  });

  it("warns of the class leak when the growth is within its limit", () => {
    const judgement = ask([runOf("pr", { peak_bytes: GIB, growth_bytes: 4 * MIB, class: "leak" })], {
      baseline: GROWTHLESS,
    });
    expect(judgement).toMatchObject({ verdict: "warn", final: true });
    expect(check(judgement, "class")?.verdict).toBe("warn");
  });

  it("fails a material leak without a baseline, confirmed by a second run", () => {
    const once = ask([leaky], { baseline: null });
    expect(once).toMatchObject({ verdict: "fail", final: false, needs_more_runs: 1 });
    expect(ask([leaky, leaky], { baseline: null })).toMatchObject({ verdict: "fail", final: true, confirmed: true });
    expect(ask([leaky, clean], { baseline: null }).verdict).toBe("unjudged");
  });

  it("leaves a leak below the material floor unjudged without a baseline", () => {
    const small = runOf("pr", { peak_bytes: GIB, growth_bytes: 10 * MIB, class: "leak" });
    expect(ask([small], { baseline: null }).verdict).toBe("unjudged");
  });

  it("judges growth projected to the horizon", () => {
    const slow = (perStep: number, session = "pr") =>
      runOf(session, { peak_bytes: GIB, growth_bytes: perStep * 400, slope_bytes_per_step: perStep, class: "flat" });
    const baseline = measured(Array.from({ length: 10 }, (_, i) => slow(0, `night-${i}`)));
    const horizon = { ...DEFAULT_POLICY, horizon: { kind: "steps", steps: 1_000_000 } } as const;
    expect(ask([slow(1300)], { baseline }).verdict).toBe("pass");
    const judgement = ask([slow(1300)], { baseline, policy: horizon });
    expect(judgement.verdict).toBe("fail");
    expect(judgement.reason).toContain("1.21 GiB");
    expect(ask([slow(100)], { baseline, policy: horizon }).verdict).toBe("pass");
  });
});

describe("any input", () => {
  const bytes = fc.oneof(
    fc.constant(null),
    fc.constant(0),
    fc.constant(Number.NaN),
    fc.double({ min: -1e12, max: 1e12, noNaN: true }),
    fc.integer({ min: 0, max: 2 ** 40 }),
  );
  const run = fc
    .record({ session: fc.constantFrom("a", "b", "c"), peak: bytes, growth: bytes, slope: bytes })
    .map(({ session, peak, growth, slope }) =>
      runOf(session, { peak_bytes: peak, growth_bytes: growth, slope_bytes_per_step: slope, class: "leak" }),
    );

  it("any input is judged the same twice", () => {
    fc.assert(
      fc.property(
        fc.array(run, { maxLength: 6 }),
        fc.array(run, { maxLength: 12 }),
        fc.boolean(),
        (own, stored, possible) => {
          const input: JudgeInput = {
            candidate: measured(own),
            baseline: measured(stored),
            anchor: measured(stored.slice(0, 2)),
            policy: {
              ...DEFAULT_POLICY,
              budgets: [{ metric: "allocated", bytes: GIB }],
              horizon: { kind: "steps", steps: 1e6 },
            },
            baseRunsPossible: possible,
          };
          const judgement = judge(input);
          expect(judge(input)).toEqual(judgement);
          expect(judgement.confirmed && judgement.verdict !== "fail").toBe(false);
          expect(JSON.parse(JSON.stringify(judgement)).checks).toHaveLength(judgement.checks.length);
          for (const one of judgement.checks) {
            expect(one.reason).not.toMatch(/NaN|undefined|Infinity/);
            for (const size of [one.candidate_bytes, one.baseline_bytes, one.threshold_bytes, one.mde_bytes]) {
              expect(size === null || Number.isFinite(size)).toBe(true);
            }
          }
        },
      ),
      { numRuns: draws(500) },
    );
  });

  it("never fails a candidate for using less", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1023 }), fc.integer({ min: 0, max: 50 }), (less, jitter) => {
        const baseline = measured(
          Array.from({ length: 10 }, (_, i) => runOf(`n${i}`, { peak_bytes: GIB + ((i * jitter) % 7) * MIB })),
        );
        return ask([runOf("pr", { peak_bytes: GIB - less * MIB })], { baseline }).verdict === "pass";
      }),
    );
  });
});

describe("a part of host memory that could not be read", () => {
  const host = (session: string, more: Parameters<typeof runOf>[2] = []): MeasuredRun =>
    runOf(session, { device: "host", metric: "host", peak_bytes: 100 * MIB }, more);
  const PYTHON = { device: "host", metric: "python", peak_bytes: 20 * MIB } as const;
  const baseline = measured(Array.from({ length: 5 }, (_, night) => host(`night-${night}`, [PYTHON])));
  const verdictOf = (candidate: readonly MeasuredRun[], against = baseline) =>
    judge({
      candidate: measured(candidate),
      baseline: against,
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: false,
    });

  it("a part of host memory that no run has is measured once more, then left out with its reason", () => {
    expect(verdictOf([host("pr")])).toMatchObject({ next: { kind: "candidate-runs", runs: 1 } });
    const after = verdictOf([host("pr"), host("pr")]);
    expect(after).toMatchObject({ verdict: "pass", next: { kind: "done" } });
    expect(after.checks.find(({ metric }) => metric === "python")).toMatchObject({
      gating: false,
      verdict: "unjudged",
      reason: expect.stringContaining("the host memory that it is a part of is judged"),
    });
    expect(verdictOf([host("pr"), host("pr", [PYTHON])])).toMatchObject({ verdict: "pass", next: { kind: "done" } });
  });

  it("a part of host memory whose growth no run has is measured once more, then judged by its peak", () => {
    const grows = { ...PYTHON, growth_bytes: 0, class: "flat" } as const;
    const known = measured(Array.from({ length: 5 }, (_, night) => host(`night-${night}`, [grows])));
    expect(verdictOf([host("pr", [PYTHON])], known)).toMatchObject({ next: { kind: "candidate-runs", runs: 1 } });
    const after = verdictOf([host("pr", [PYTHON]), host("pr", [PYTHON])], known);
    expect(after).toMatchObject({ verdict: "pass", next: { kind: "done" } });
    expect(after.checks.filter(({ metric }) => metric === "python")).toMatchObject([
      { aspect: "peak", gating: true, verdict: "pass" },
      { aspect: "growth", gating: false, verdict: "unjudged" },
    ]);
  });

  it("a part of host memory stays unjudged where host memory is not there either", () => {
    const only = runOf("pr", { device: "host", metric: "js_heap", peak_bytes: MIB });
    expect(verdictOf([only, only])).toMatchObject({ verdict: "unjudged" });
  });
});
