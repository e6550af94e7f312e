import type { MeasuredSeries } from "../../analysis/measurements.ts";
import { type Counter, horizonFloor, isExact } from "../../analysis/trend/materiality.ts";
import type { Horizon } from "../../core/units.ts";
import { median } from "../../stats/order-statistics.ts";
import { formatSize, limitOf, METRIC } from "../../telemetry/recording/metrics.ts";
import {
  CONFIRMED_SPREADS,
  EXACT_GROWTH_FLOOR_BYTES,
  GROWTH_FLOOR_BYTES,
  GROWTH_FLOOR_FRACTION,
  GROWTH_SPREAD_FACTOR,
  LONE_WARNING_SHARE,
} from "../model/defaults.ts";
import type { Check } from "../model/judgement.ts";
import { finite, knownValues, type SeriesRun } from "../model/series-index.ts";
import { checkOf } from "./check.ts";
import { peaks } from "./peak-rule.ts";
import { relativeCheck } from "./relative-check.ts";
import { judgeRelative, type RelativeContext, type RelativeOutcome } from "./relative-rule.ts";
import type { SessionValue } from "./sessions.ts";

/** Growth of the lower envelope of a run over the stretch that grew, bytes. */
export function observedGrowth(series: MeasuredSeries): number | null {
  return finite(series.growth_bytes);
}

/**
 * A breach of runs that were over while their process started is none of growth: when within such a run the program
 * allocates depends on how busy the machine is. Its peak is compared, so a metric without one keeps the breach.
 */
function withoutStart(outcome: RelativeOutcome, { key, candidate }: RelativeContext): RelativeOutcome {
  const isBreach = outcome.kind === "breach" || outcome.kind === "session-unknown";
  if (!isBreach || !METRIC[key.metric].hasPeak || !candidate.every(({ series }) => series.class === "insufficient"))
    return outcome;
  return { ...outcome, kind: "dismissed", why: "start", inSession: outcome, needsBaseRuns: 0 };
}

interface Growths {
  readonly horizon: Horizon | null;
  readonly candidate: readonly (SessionValue & { readonly leak: boolean })[];
  readonly baseline: ReturnType<typeof knownValues>;
}

/** Steps or seconds in which a run of this scenario grows, from growth = slope x length; null when no run grew. */
function observedLength(runs: readonly MeasuredSeries[], horizon: Horizon): number | null {
  const lengths = runs.flatMap((series) => {
    const slope = finite(horizon.kind === "steps" ? series.slope_bytes_per_step : series.slope_bytes_per_s);
    const growth = observedGrowth(series);
    const length = slope === null || growth === null || slope === 0 ? Number.NaN : growth / slope;
    // No run is shorter than a millisecond: such a quotient is the rounding error of a growth of zero.
    return length >= 1e-3 ? [length] : [];
  });
  return lengths.length === 0 ? null : median(lengths);
}

/** A baseline run at the horizon. One stored without a slope is taken to be as long as the candidate's run. */
function projectedBaseline(series: MeasuredSeries, horizon: Horizon, length: number | null): number | null {
  const known = projectedGrowth(series, horizon);
  const growth = observedGrowth(series);
  if (known !== null || growth === null || length === null) return known;
  return (growth / length) * (horizon.kind === "steps" ? horizon.steps : horizon.seconds);
}

/**
 * The known growths of runs. A run that gives memory back has grown by nothing: against a baseline that falls, a run
 * which stays level does not grow.
 */
function grown(runs: readonly SeriesRun[], growth: (series: MeasuredSeries) => number | null) {
  return knownValues(runs, growth).map((known) => ({ ...known, value: Math.max(0, known.value) }));
}

/** The same of the candidate's runs, and whether each run leaks. */
function candidateGrowths(runs: readonly SeriesRun[], growth: (series: MeasuredSeries) => number | null) {
  return runs.flatMap((run) => grown([run], growth).map((known) => ({ ...known, leak: run.series.class === "leak" })));
}

/** The growths to compare: all at the horizon where both sides can be projected to it, otherwise all as observed. */
function growths(context: RelativeContext): Growths {
  const measured = context.candidate.map(({ series }) => series);
  const wanted = applicableHorizon(measured, context.policy.horizon);
  if (wanted !== null) {
    const span = observedLength(measured, wanted);
    const baseline = grown(context.baseline, (series) => projectedBaseline(series, wanted, span));
    if (baseline.length >= Math.min(context.policy.minBaselineRuns, context.baseline.length)) {
      const candidate = candidateGrowths(context.candidate, (series) => projectedGrowth(series, wanted));
      return { horizon: wanted, candidate, baseline };
    }
  }
  return {
    horizon: null,
    candidate: candidateGrowths(context.candidate, observedGrowth),
    baseline: grown(context.baseline, observedGrowth),
  };
}

/** Whether the growth of this series is known in at least one run. */
export function hasGrowth(runs: readonly SeriesRun[]): boolean {
  return runs.some(({ series }) => observedGrowth(series) !== null);
}

/** Bytes that a growth may exceed another, without a horizon. */
function growthFloor(level: number, counter: Counter): number {
  const floor = isExact(counter) ? EXACT_GROWTH_FLOOR_BYTES : limitOf(GROWTH_FLOOR_BYTES, counter.metric);
  return Math.max(floor, GROWTH_FLOOR_FRACTION * level);
}

/** The level of the baseline's runs, bytes; 0 when it is not known. */
const levelOf = (runs: readonly SeriesRun[]): number => Math.abs(median(peaks(runs).map(({ value }) => value)) || 0);

/**
 * The runs of the baseline that were analysed as the candidate was. Growth and class of other versions of the analysis
 * are other quantities. Empty where the candidate's own runs are of several versions.
 */
export function ofSameAnalysis(candidate: readonly SeriesRun[], baseline: readonly SeriesRun[]): readonly SeriesRun[] {
  const [first] = candidate;
  if (first === undefined || candidate.some(({ version }) => version !== first.version)) return [];
  return baseline.filter(({ version }) => version === first.version);
}

export const OTHER_ANALYSIS =
  "another version of the analysis measured the growth of the baseline: renew it with `baseline refresh`";

/** Growth of a series against the baseline's, which has the same warm-up, filling caches and steps. */
export function growthRule(context: RelativeContext): Check {
  const { horizon, candidate, baseline } = growths(context);
  const level = levelOf(context.baseline);
  const { metric } = context.key;
  const floor = horizon === null ? growthFloor(level, context.key) : horizonFloor(level, metric);
  const held = context.baseline.every(({ series }) => series.class !== undefined && series.class !== "leak");
  const outcome = judgeRelative(context, {
    candidate: candidate.map(({ value }) => value),
    leaking: candidate.map(({ leak }) => held && leak),
    baseline,
    singleRunMargin: horizon === null ? LONE_WARNING_SHARE * level : Number.POSITIVE_INFINITY,
    margin: (_, spread) => Math.max(floor, GROWTH_SPREAD_FACTOR * spread),
    confirmedSpreads: CONFIRMED_SPREADS / GROWTH_SPREAD_FACTOR,
  });
  const first = candidate[0]?.value ?? Number.NaN;
  // Short runs have a growth only where a busy machine makes them longer. Without one no limit is exceeded.
  const short = outcome.kind === "too-few" && context.baseline.length >= context.policy.minBaselineRuns;
  if (short && horizon === null && candidate.every(({ value }) => value <= floor)) {
    return checkOf(context.key, {
      aspect: "growth",
      limit: "baseline",
      gating: context.gating,
      candidate_bytes: first,
      threshold_bytes: floor,
      verdict: "pass",
      reason:
        `growth ${formatSize(metric, first)} is not above ${formatSize(metric, floor)}, the smallest growth that is judged, ` +
        "and most runs of the baseline are too short for a growth",
    });
  }
  return relativeCheck(withoutStart(outcome, context), context, {
    aspect: "growth",
    name: horizon === null ? "growth" : `growth ${describeHorizon(horizon)}`,
    ...(horizon === null ? {} : { horizon: describeHorizon(horizon) }),
    first,
  });
}

/** Growth over the whole production length at the measured slope, bytes; null without a slope in the horizon's unit. */
export function projectedGrowth(series: MeasuredSeries, horizon: Horizon): number | null {
  const slope = finite(horizon.kind === "steps" ? series.slope_bytes_per_step : series.slope_bytes_per_s);
  return slope === null ? null : slope * (horizon.kind === "steps" ? horizon.steps : horizon.seconds);
}

/** "at 1000000 steps", "after 72 h". */
export function describeHorizon(horizon: Horizon): string {
  return horizon.kind === "steps"
    ? `at ${horizon.steps} steps`
    : `after ${Number((horizon.seconds / 3600).toFixed(2))} h`;
}

/** The horizon, unless a slope in its unit is missing or the observed span is longer, whose growth is then larger. */
export function applicableHorizon(series: readonly MeasuredSeries[], horizon: Horizon | null): Horizon | null {
  if (horizon === null || series.length === 0) return null;
  const reaches = series.every((one) => {
    const projected = projectedGrowth(one, horizon);
    return projected !== null && Math.abs(projected) >= Math.abs(finite(one.growth_bytes) ?? 0);
  });
  return reaches ? horizon : null;
}
