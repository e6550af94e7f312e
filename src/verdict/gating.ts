import type { MeasuredSeries, Measurements } from "../analysis/measurements.ts";
import { isCounted, METRIC, METRICS, type Metric } from "../telemetry/recording/metrics.ts";
import type { Check } from "./model/judgement.ts";
import type { Policy } from "./model/policy.ts";
import { isKnown, type SeriesHistory, type SeriesKey } from "./model/series-index.ts";

/**
 * Metrics whose peak, growth and class can fail the gate. Allocated is the memory the program holds. Reserved and
 * device-used vary with the allocator's history for identical work. Host memory gates only where no allocator counter
 * of a device was read; a CPU run's heap counters (device "host") gate beside it, the C heap's and Python's own. A
 * collector lets its heap grow by tens of MiB for a program that keeps nothing, so what such a heap holds takes the
 * place of host memory. What host memory has outside the heap gates beside either, where it is known, and then the peak
 * of host memory gates as well. A counter of Python that the baseline has and the candidate lost gates as well: it is
 * unjudged then. What is counted beside memory gates wherever it was counted.
 * @param baseline the runs that are compared with; null = none
 */
export function gatingMetrics(
  policy: Policy,
  candidate: Measurements,
  baseline: Measurements | null = null,
): ReadonlySet<Metric> {
  if (policy.gatingMetrics !== null) return new Set(policy.gatingMetrics);
  const measures = (wanted: (series: MeasuredSeries) => boolean, from = candidate): boolean =>
    from.runs.some(({ series }) => series.some((one) => wanted(one) && isKnown(one)));
  const either = (wanted: Metric): readonly Metric[] =>
    [candidate, ...(baseline === null ? [] : [baseline])].some((one) =>
      measures(({ metric }) => metric === wanted, one),
    )
      ? [wanted]
      : [];
  const counted = METRICS.filter((one) => isCounted(one) && measures(({ metric }) => metric === one));
  const beside = [...either("left_behind"), ...counted];
  if (measures(({ metric, device }) => metric === "allocated" && device !== "host"))
    return new Set(["allocated", ...beside]);
  // A baseline from before they were measured says nothing about them.
  const has = (wanted: Metric): boolean =>
    [candidate, ...(baseline === null ? [] : [baseline])].every((one) =>
      measures(({ metric }) => metric === wanted, one),
    );
  const heaps = METRICS.filter(
    (metric) => METRIC[metric].isLiveHeap && liveHeapGates(metric, candidate, baseline, policy),
  );
  const outside = heaps.length > 0 && has("outside_heap");
  return new Set<Metric>([
    "allocated",
    ...(heaps.length === 0 || outside ? (["host"] as const) : []),
    ...heaps,
    ...(outside ? (["outside_heap"] as const) : []),
    ...either("python"),
    ...beside,
  ]);
}

/**
 * Whether a live heap is judged. Without a baseline that takes a curve. With one, whose runs have it, its peak is
 * enough, and a run that has none is made once more.
 */
function liveHeapGates(
  metric: Metric,
  candidate: Measurements,
  baseline: Measurements | null,
  { minBaselineRuns }: Policy,
): boolean {
  const count = ({ runs }: Measurements, wanted: (series: MeasuredSeries) => boolean): number =>
    runs.filter(({ series }) => series.some((one) => one.metric === metric && isKnown(one) && wanted(one))).length;
  if (baseline === null) return count(candidate, (one) => one.class !== "insufficient") > 0;
  if (count(baseline, () => true) < minBaselineRuns) return false;
  return candidate.runs.length < 2 || count(candidate, () => true) > 0;
}

const gatesLiveHeap = (gating: ReadonlySet<Metric>): boolean =>
  METRICS.some((metric) => METRIC[metric].isLiveHeap && gating.has(metric));

/**
 * The checks without growth and class of host memory where two series that gate explain it: what a collected heap
 * holds, and what is outside the heap. The rest is garbage, which the collector may still reclaim. It stays beside a
 * heap that fails by its peak, as the curve of that.
 */
export function withoutExplainedGrowth(checks: readonly Check[], gating: ReadonlySet<Metric>): readonly Check[] {
  if (!gating.has("outside_heap")) return checks;
  const isHeapHigher = checks.some(
    ({ metric, kind, verdict }) => METRIC[metric].isLiveHeap && kind === "peak" && verdict === "fail",
  );
  return isHeapHigher ? checks : checks.filter(({ metric, kind }) => metric !== "host" || kind === "peak");
}

/**
 * Whether the checks of a series count among those that share an alpha. Pages contain the heaps of interpreters: of the
 * two, the heap's own counter takes the place, and host memory goes with it, for what no counter sees (memory that
 * libraries map themselves). What is left behind, or counted beside memory, does not vary.
 */
export function countsForAlpha({ metric }: SeriesKey, gating: ReadonlySet<Metric>): boolean {
  const hasHeap = gating.has("python") || gatesLiveHeap(gating);
  const goesWithHeap = metric === "host" || metric === "outside_heap";
  const isMemory = !METRIC[metric].isLeftBehind && !isCounted(metric);
  return gating.has(metric) && isMemory && !(hasHeap && goesWithHeap);
}

/**
 * The series that are compared: all but heaps in runs that do not show their contents, and metrics that count on
 * request and phases, unless they were named.
 */
export function comparedSeries(
  all: readonly SeriesHistory[],
  gating: ReadonlySet<Metric>,
  { gatingPhases }: Policy,
): readonly SeriesHistory[] {
  const named = ({ metric, phase }: SeriesKey) =>
    (!METRIC[metric].isOnRequest || gating.has(metric)) && (phase === undefined || gatingPhases.includes(phase));
  const seen = ({ key, runs }: SeriesHistory) =>
    METRIC[key.metric].isLiveHeap ? runs.filter(({ series }) => series.class !== "unavailable") : runs;
  return all.flatMap((history) => {
    const runs = seen(history);
    return named(history.key) && runs.length > 0 ? [{ ...history, runs }] : [];
  });
}

/** The candidate's series, less those of metrics that were not known when the baseline was measured. */
export function withoutNewMetrics(
  candidate: readonly SeriesHistory[],
  baseline: readonly SeriesHistory[],
): readonly SeriesHistory[] {
  const known = new Set(baseline.map(({ key }) => key.metric));
  const isNew = ({ key: { metric } }: SeriesHistory): boolean =>
    (METRIC[metric].isInterpreter || METRIC[metric].isLeftBehind || isCounted(metric)) && !known.has(metric);
  return candidate.filter((series) => !isNew(series));
}
