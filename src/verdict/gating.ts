import type { MeasuredSeries, Measurements } from "../analysis/measurements.ts";
import { METRIC, type Metric } from "../telemetry/recording/metrics.ts";
import type { Policy } from "./model/policy.ts";
import { finite, type SeriesHistory, type SeriesKey } from "./model/series-index.ts";

/**
 * Metrics whose peak, growth and class can fail the gate. Allocated is the memory the program holds. Reserved and
 * device-used vary with the allocator's history for identical work. Host memory gates only where no allocator counter
 * of a device was read; a CPU run's heap counters (device "host") gate beside it, the C heap's and Python's own. What
 * V8's heap keeps takes its place, since V8 moves its pages by tens of MiB for a heap that does not grow. A counter of
 * Python that the baseline has and the candidate lost gates as well: it is unjudged then.
 */
export function gatingMetrics(
  policy: Policy,
  candidate: Measurements,
  baseline: Measurements | null = null,
): ReadonlySet<Metric> {
  if (policy.gatingMetrics !== null) return new Set(policy.gatingMetrics);
  const measures = (wanted: (series: MeasuredSeries) => boolean, { runs } = candidate): boolean =>
    runs.some((run) =>
      run.series.some(
        (series) =>
          wanted(series) &&
          series.class !== "unavailable" &&
          (finite(series.peak_bytes) !== null || finite(series.growth_bytes) !== null),
      ),
    );
  if (measures(({ metric, device }) => metric === "allocated" && device !== "host")) return new Set(["allocated"]);
  const pages = measures(({ metric }) => metric === "js_heap") ? "js_heap" : "host";
  const isPython = ({ metric }: MeasuredSeries): boolean => metric === "python";
  const hasPython = measures(isPython) || (baseline !== null && measures(isPython, baseline));
  return new Set<Metric>(["allocated", pages, ...(hasPython ? PYTHON : [])]);
}

const PYTHON: readonly Metric[] = ["python"];

/**
 * Whether the checks of a series count among those that share an alpha. Pages contain Python's arenas: of the two,
 * Python's own counter takes the place, and host memory goes with it, for what no counter sees (memory that libraries
 * map themselves).
 */
export function countsForAlpha({ metric }: SeriesKey, gating: ReadonlySet<Metric>): boolean {
  return gating.has(metric) && !(metric === "host" && gating.has("python"));
}

/** The series that are compared: all but metrics that count on request and phases, unless they were named. */
export function comparedSeries(
  all: readonly SeriesHistory[],
  gating: ReadonlySet<Metric>,
  { gatingPhases }: Policy,
): readonly SeriesHistory[] {
  const named = ({ metric, phase }: SeriesKey) =>
    (!METRIC[metric].isOnRequest || gating.has(metric)) && (phase === undefined || gatingPhases.includes(phase));
  return all.filter(({ key }) => named(key));
}

/** The candidate's series, less those of metrics that were not known when the baseline was measured. */
export function withoutNewMetrics(
  candidate: readonly SeriesHistory[],
  baseline: readonly SeriesHistory[],
): readonly SeriesHistory[] {
  const known = new Set(baseline.map(({ key }) => key.metric));
  return candidate.filter(({ key: { metric } }) => metric !== "python" || known.has(metric));
}
