import type { MeasuredRun, MeasuredSeries, Measurements } from "../../src/analysis/measurements.ts";
import type { Metric } from "../../src/telemetry/recording/metrics.ts";
import { judge } from "../../src/verdict/judge.ts";
import { DEFAULT_POLICY } from "../../src/verdict/model/defaults.ts";
import type { Judgement } from "../../src/verdict/model/judgement.ts";
import { judgementDocument } from "../../src/verdict/model/judgement-document.ts";

/** One run: its only series, or all of them. */
type RunOfSeries = MeasuredSeries | readonly MeasuredSeries[];

export interface DecisionInput {
  /** Baseline runs, by session. */
  readonly baseline: readonly (readonly RunOfSeries[])[];
  readonly candidate: () => RunOfSeries;
  /** A run of the base commit in the candidate's session; null where none can be had. */
  readonly base: (() => RunOfSeries) | null;
  /** Metric that gates; default: the policy's own choice. */
  readonly gating?: Metric;
  /**
   * Runs measured before the next judgement: one, as the gate does (the default), or all that the judgement requested.
   */
  readonly pace?: "one" | "asked";
}

export interface DecisionOutcome {
  readonly judgement: Judgement;
  readonly candidateRuns: number;
  readonly baseRuns: number;
}

const SESSION = "candidate";
/** Maximum number of judgements: at most six candidate runs and six base runs are requested. */
const MAX_ROUNDS = 60;

/** The peak of a run alone, bytes. */
export function peakOnly(peak: number, metric: Metric = "allocated"): MeasuredSeries {
  return { rank: 0, device: "cuda:0", metric, peak_bytes: peak };
}

const runOf = (session: string, run: RunOfSeries): MeasuredRun => ({
  session,
  commit: null,
  series: "metric" in run ? [run] : run,
});

const measurements = (runs: readonly MeasuredRun[]): Measurements => ({
  scenario: "scenario",
  fingerprint: null,
  runs,
});

/**
 * Judges one pull request like the gate: measures once, then the runs that the judgement requests, until it is final.
 */
export function judgeUntilFinal({
  baseline: nights,
  candidate: draw,
  base,
  gating,
  pace = "one",
}: DecisionInput): DecisionOutcome {
  const baseline = nights.flatMap((runs, night) => runs.map((run) => runOf(`night-${night}`, run)));
  const candidate = [runOf(SESSION, draw())];
  const baseRuns: MeasuredRun[] = [];
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const judgement = judge({
      candidate: measurements(candidate),
      baseline: measurements(baseline),
      baseRuns,
      anchor: null,
      policy: gating === undefined ? DEFAULT_POLICY : { ...DEFAULT_POLICY, gatingMetrics: [gating] },
      baseRunsPossible: base !== null,
    });
    const { needs_more_runs: more, needs_base_runs: bases, final } = judgementDocument(judgement);
    if (final) return { judgement, candidateRuns: candidate.length, baseRuns: baseRuns.length };
    const count = (asked: number) => (pace === "one" ? Math.min(1, asked) : asked);
    for (let i = 0; i < count(more); i += 1) candidate.push(runOf(SESSION, draw()));
    if (base === null || (pace === "one" && more > 0)) continue;
    for (let i = 0; i < count(bases); i += 1) baseRuns.push(runOf(SESSION, base()));
  }
  throw new Error("the judgement never becomes final");
}
