import type { MeasuredRun, MeasuredSeries, Measurements } from "../../analysis/measurements.ts";
import { METRIC, type Metric } from "../../telemetry/recording/metrics.ts";
import type { Check, Judgement } from "../model/judgement.ts";
import type { Policy } from "../model/policy.ts";
import { indexSeries, isKnown } from "../model/series-index.ts";
import { classRule } from "./class-rule.ts";

const MAY_BE_GARBAGE = "; it may be garbage, because what the collected heap holds is not known";

/** Whether growth of host memory is unjudged for want of a run in which the heap was collected. */
export const mayBeGarbage = ({ checks }: Pick<Judgement, "checks">): boolean =>
  checks.some(({ gating, reason }) => gating && reason.endsWith(MAY_BE_GARBAGE));

/** Whether a heap leaks in one run alone in which it was collected. */
export const leaksOnceCollected = ({ checks }: Pick<Judgement, "checks">): boolean =>
  checks.some(({ metric, verdict, confirmed }) => METRIC[metric].isLiveHeap && verdict === "fail" && !confirmed);

const isLiveHeap = ({ metric }: { readonly metric: Metric }): boolean => METRIC[metric].isLiveHeap;

const isClassified = (series: MeasuredSeries): boolean =>
  isKnown(series) && series.class !== undefined && series.class !== "insufficient";

const grows = ({ class: drift }: MeasuredSeries): boolean => drift === "leak" || drift === "rising" || drift === "step";

/** Whether a collected heap was seen in a run, whether or not what it holds is known. */
export const hasHeap = (series: readonly MeasuredSeries[]): boolean =>
  series.some((one) => isLiveHeap(one) || one.metric === "outside_heap");

interface GarbageInput {
  readonly candidate: Measurements;
  /** Runs beside the judged ones in which the heap was collected. Default none. */
  readonly collected?: readonly MeasuredRun[];
  readonly policy: Policy;
}

/** Whether host memory grows in a run that does not show what its heap holds, so that a baseline may hide a leak. */
export const hidesGrowth = (series: readonly MeasuredSeries[]): boolean =>
  hasHeap(series) &&
  !series.some((one) => isLiveHeap(one) && isKnown(one)) &&
  series.some(({ metric, class: drift }) => metric === "host" && (drift === "leak" || drift === "rising"));

/**
 * The checks of a program with a heap whose contents no judged run shows. Growth of host memory does not fail by itself
 * then. Where a run beside the judged ones collected the heap, and it grew neither there nor outside the heap, the
 * growth is garbage. A heap that leaks in such runs fails.
 * @param checks those of the judged runs
 */
export function garbageRule(
  checks: readonly Check[],
  { candidate, collected = [], policy }: GarbageInput,
): readonly Check[] {
  const series = candidate.runs.flatMap((run) => run.series);
  if (!hasHeap(series) || series.some((one) => isLiveHeap(one) && isKnown(one))) return checks;
  const live = collected.flatMap((run) => run.series).filter((one) => isLiveHeap(one) && isClassified(one));
  const outside = series.filter((one) => one.metric === "outside_heap" && isClassified(one));
  const gating = checks.some((check) => check.metric === "host" && check.gating);
  const leaks = indexSeries({ ...candidate, runs: collected }).flatMap(({ key, runs }): Check[] => {
    if (!isLiveHeap(key) || !runs.some((run) => run.series.class === "leak")) return [];
    const check = classRule({ key, candidate: runs, baseline: [], older: false, gating, policy, growth: null });
    // Further judged runs would not show it.
    return check === null ? [] : [{ ...check, needs_more_runs: 0 }];
  });
  if (live.some(grows) || outside.some(({ class: drift }) => drift === "leak")) return [...checks, ...leaks];
  const isGarbage = live.length > 0 && outside.length > 0 && !outside.some(grows);
  return checks.map((check) => {
    const isGrowth = check.metric === "host" && (check.kind === "growth" || check.kind === "class");
    if (!isGrowth || check.verdict !== "fail") return check;
    const needs = { needs_more_runs: 0, needs_base_runs: 0, confirmed: false };
    return isGarbage
      ? {
          ...check,
          ...needs,
          verdict: "pass",
          reason: `${check.reason}; it is garbage: the collected heap does not grow`,
        }
      : { ...check, ...needs, verdict: "unjudged", reason: `${check.reason}${MAY_BE_GARBAGE}` };
  });
}
