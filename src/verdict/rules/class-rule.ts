import type { MeasuredSeries } from "../../analysis/measurements.ts";
import { horizonFloor, isExact, materialChange } from "../../analysis/trend/materiality.ts";
import { plural } from "../../core/text.ts";
import type { Horizon } from "../../core/units.ts";
import { median } from "../../stats/order-statistics.ts";
import { formatSize, METRIC } from "../../telemetry/recording/metrics.ts";
import { CLEAR_LEAK_RATE, MIN_CONFIRMATIONS, WARNING_ALPHA } from "../model/defaults.ts";
import type { Check, ClassCheck } from "../model/judgement.ts";
import type { Policy } from "../model/policy.ts";
import { commonClass, finite, type SeriesKey, type SeriesRun } from "../model/series-index.ts";
import { checkOf } from "./check.ts";
import { confirmations, falseAlarmProbability, separationProbability } from "./confirmation.ts";
import { applicableHorizon, describeHorizon, OTHER_ANALYSIS, projectedGrowth } from "./growth-rule.ts";
import { decisiveLength, mayBeCache, orCache } from "./small-leak.ts";

interface ClassContext {
  readonly key: SeriesKey;
  readonly candidate: readonly SeriesRun[];
  /** Runs of the baseline of the candidate's version of the analysis; empty when none is usable. */
  readonly baseline: readonly SeriesRun[];
  /** Whether the baseline has runs of other versions, so that whether it leaks is not known. */
  readonly older: boolean;
  readonly gating: boolean;
  readonly policy: Policy;
  /** The growth check of the same series, where growth could be judged against the baseline. */
  readonly growth: Check | null;
}

/** The growth of a run and whether it is material; null when the growth is not known. */
function materiality(series: MeasuredSeries, horizon: Horizon | null): { growth: number; material: boolean } | null {
  const growth = horizon === null ? finite(series.growth_bytes) : projectedGrowth(series, horizon);
  if (growth === null) return null;
  const level = Math.abs(finite(series.peak_bytes) ?? 0);
  const { metric } = series;
  const floor = horizon === null ? materialChange(level, series) : horizonFloor(level, metric);
  return { growth, material: growth > floor && growth >= (METRIC[metric].failsFromBytes ?? 0) };
}

/** Whether the growth is known, and may be that of a cache. */
function isSmall(series: MeasuredSeries): boolean {
  const growth = finite(series.growth_bytes);
  return growth !== null && mayBeCache(growth, finite(series.peak_bytes) ?? 0, series);
}

/** Up to this many times the growth of accepted runs, a growth that cannot be judged yet is not called new. */
const ACCEPTED_GROWTHS = 2;

/** A leak without a baseline to compare with: it fails when it is material and two runs agree. */
function aloneRule(
  context: ClassContext,
  base: Pick<ClassCheck, "aspect" | "limit" | "gating" | "candidate_class" | "baseline_class">,
): Check {
  const { key, candidate, baseline, policy, gating } = context;
  const before = base.baseline_class;
  const horizon = applicableHorizon(
    candidate.map(({ series }) => series),
    policy.horizon,
  );
  const leaks = candidate.filter(({ series }) => series.class === "leak");
  const sizes = leaks.map(({ series }) => materiality(series, horizon));
  // Only material growth is classified as a leak, so a leak of unknown size counts.
  const material = sizes.filter((size) => size === null || size.material).length;
  const growths = sizes.flatMap((size) => (size === null ? [] : [size.growth]));
  const largest = growths.length === 0 ? null : Math.max(...growths);
  const size =
    largest === null
      ? ""
      : ` of ${formatSize(key.metric, largest)}${horizon === null ? "" : ` ${describeHorizon(horizon)}`}`;
  const parts = { ...base, candidate_bytes: largest };
  const accepted = baseline.flatMap(({ series }) => materiality(series, horizon)?.growth ?? []);
  if (largest !== null && accepted.length > 0 && largest <= ACCEPTED_GROWTHS * Math.max(...accepted)) {
    return checkOf(key, {
      ...parts,
      verdict: "warn",
      reason: `leak${size}, as in runs of the baseline, which are too few to judge it`,
    });
  }
  if (material === 0) {
    return checkOf(key, {
      ...parts,
      verdict: "warn",
      reason: `grows like a leak, but the growth${size} is not material`,
    });
  }
  if (!gating)
    return checkOf(key, { ...parts, verdict: "warn", reason: `leak${size}, in a metric that does not gate` });
  // How fast a program leaks may differ between its runs: more leaks outweigh a run that is none.
  const misses = candidate.length - material;
  const chance = (runs: number) => falseAlarmProbability(CLEAR_LEAK_RATE, runs, misses);
  const wanted = confirmations(chance, CLEAR_LEAK_RATE ** MIN_CONFIRMATIONS, policy.maxConfirmations, misses);
  const missing = misses > material ? 0 : Math.max(0, wanted - candidate.length);
  const confirmed = candidate.length >= wanted;
  if (misses > 0 && !confirmed) {
    return checkOf(key, {
      ...parts,
      verdict: "warn",
      needs_more_runs: missing,
      reason: `leak${size} in only ${material} of ${candidate.length} runs`,
    });
  }
  const small = horizon === null && isExact(key) ? leaks.map(({ series }) => series).filter(isSmall) : [];
  if (small.length === leaks.length) {
    const length = decisiveLength(small[0]!);
    return checkOf(key, {
      ...parts,
      verdict: "warn",
      needs_more_runs: missing,
      ...(confirmed ? { cache_unless: length } : {}),
      reason: `leak${size} in ${material} of ${candidate.length} runs${orCache(length)}`,
    });
  }
  return checkOf(key, {
    ...parts,
    verdict: "fail",
    needs_more_runs: missing,
    confirmed,
    reason:
      `leak${size} in ${material} of ${candidate.length} runs, ` +
      (before === null || before === "insufficient" || before === "unavailable"
        ? "without a baseline to compare with"
        : `where the baseline is ${before}`),
  });
}

/** The growths of the runs, bytes, where they are known. */
const growthsOf = (runs: readonly SeriesRun[]): readonly number[] =>
  runs.flatMap(({ series }) => finite(series.growth_bytes) ?? []);

/**
 * Why a leak is none that the baseline does not have: some of its runs are leaks too, as often as the exact rank test
 * leaves possible, or grow at least as much. Near the border of two classes, identical runs get either. Null when it
 * is one.
 */
function knownLeaks(candidate: readonly SeriesRun[], baseline: readonly SeriesRun[]): string | null {
  const leaks = baseline.filter(({ series }) => series.class === "leak").length;
  const runs = candidate.filter(({ series }) => series.class === "leak").length;
  if (leaks > 0 && separationProbability(leaks, baseline.length, runs) > WARNING_ALPHA) {
    return `as in ${leaks} of ${plural(baseline.length, "run")} of the baseline`;
  }
  const [grown, before] = [growthsOf(candidate), growthsOf(baseline)];
  const isKnown = grown.length > 0 && before.length > 0 && median(grown) <= Math.max(...before);
  return isKnown ? "and runs of the baseline grow as much" : null;
}

/**
 * The drift class. A series that became a leak fails only together with a growth breach. On its own it warns, because
 * the class of a single series can be wrong on random walks. Null when the candidate is not a leak and nothing is
 * compared, or when it could not be classified: what is not known passes nothing.
 */
export function classRule(context: ClassContext): Check | null {
  const { key, candidate, baseline, growth, gating } = context;
  const now = commonClass(candidate);
  if (now === null) return null;
  const before = commonClass(baseline);
  const base = {
    aspect: "class",
    limit: "baseline",
    gating,
    candidate_class: now,
    baseline_class: before,
    candidate_bytes: growth?.candidate_bytes ?? null,
    baseline_bytes: growth?.baseline_bytes ?? null,
  } as const;
  const anyLeak = candidate.some(({ series }) => series.class === "leak");
  const judged = growth !== null && growth.verdict !== "unjudged";
  if (!judged && context.older && anyLeak) {
    const needs_base_runs = growth?.needs_base_runs ?? 0;
    return checkOf(key, {
      ...base,
      candidate_class: "leak",
      verdict: "unjudged",
      needs_base_runs,
      reason: OTHER_ANALYSIS,
    });
  }
  if (!judged) return anyLeak ? aloneRule(context, { ...base, candidate_class: "leak" }) : null;
  if (now === "insufficient" || now === "unavailable") return null;
  if (now !== "leak")
    return checkOf(key, {
      ...base,
      verdict: "pass",
      reason: `class ${now}${before === null || before === now ? "" : ` (baseline: ${before})`}`,
    });
  if (growth.verdict === "fail") {
    return checkOf(key, {
      ...base,
      verdict: "fail",
      confirmed: growth.confirmed,
      needs_more_runs: growth.needs_more_runs,
      needs_base_runs: growth.needs_base_runs,
      reason: `class leak (baseline: ${before ?? "unknown"}), and the growth is above its limit`,
    });
  }
  if (before === "leak") {
    return checkOf(key, { ...base, verdict: "pass", reason: "class leak, as in the baseline" });
  }
  const share = knownLeaks(candidate, baseline);
  if (share !== null) return checkOf(key, { ...base, verdict: "pass", reason: `class leak, ${share}` });
  const above = growth.candidate_bytes !== null && growth.candidate_bytes > (growth.threshold_bytes ?? Infinity);
  return checkOf(key, {
    ...base,
    verdict: "warn",
    reason: `class leak (baseline: ${before ?? "unknown"}), ${above ? "and the growth is above" : "but the growth is within"} its limit`,
  });
}
