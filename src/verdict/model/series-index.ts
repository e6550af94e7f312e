import type { MeasuredSeries, Measurements } from "../../analysis/measurements.ts";
import type { DriftClass } from "../../analysis/series/document.ts";
import { METRICS, type Metric, metricLabel } from "../../telemetry/recording/metrics.ts";

/** What identifies a series across runs. */
export interface SeriesKey {
  readonly rank: number;
  readonly device: string;
  readonly metric: Metric;
  /** Of one phase of the program; absent = of the whole run. */
  readonly phase?: string | undefined;
}

/** One series in one run. */
export interface SeriesRun {
  readonly session: string;
  /** Whether it is a re-run of the base commit beside the candidate. */
  readonly rerun: boolean;
  /** Version of the analysis that measured it. */
  readonly version: number;
  readonly series: MeasuredSeries;
}

/** One series in every run that has it, in the order of the runs. */
export interface SeriesHistory {
  readonly key: SeriesKey;
  readonly runs: readonly SeriesRun[];
}

/** Whether the samples of the series reach the end of the run. */
export const isWhole = ({ series }: SeriesRun): boolean => series.cut !== true;

/** Reason of a check whose series is within its limit as far as it was measured, and whole in no run. */
export const CUT_EVERYWHERE =
  "the samples of this series end early in every run, so a level within the limit proves nothing";

/** A number, or null for null, undefined, NaN and infinities: unknown is never 0. */
export function finite(value: number | null | undefined): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** Whether anything is known of a series. */
export const isKnown = (series: MeasuredSeries): boolean =>
  series.class !== "unavailable" && (finite(series.peak_bytes) !== null || finite(series.growth_bytes) !== null);

/** "rank 0 allocated on cuda:0", for sentences. */
export function describeSeries(key: SeriesKey, ranks: "one" | "many" = "many"): string {
  const label = metricLabel(key.metric);
  const metric = key.metric === key.device ? label : `${label} on ${key.device}`;
  const series = key.phase === undefined ? metric : `${metric} in the phase ${key.phase}`;
  return ranks === "one" ? series : `rank ${key.rank} ${series}`;
}

export function sameSeries(a: SeriesKey, b: SeriesKey): boolean {
  return a.rank === b.rank && a.device === b.device && a.metric === b.metric && a.phase === b.phase;
}

function compareKeys(a: SeriesKey, b: SeriesKey): number {
  if (a.rank !== b.rank) return a.rank - b.rank;
  if (a.device !== b.device) return a.device < b.device ? -1 : 1;
  const [one = "", other = ""] = [a.phase, b.phase];
  return METRICS.indexOf(a.metric) - METRICS.indexOf(b.metric) || (one < other ? -1 : Number(one > other));
}

/** Names a series: equal for equal keys, and for no others. */
export const seriesName = ({ rank, device, metric, phase }: SeriesKey): string =>
  JSON.stringify([rank, device, metric, phase]);

/** Every series of the measurements, by rank, device and metric. */
export function indexSeries(measurements: Measurements | null): readonly SeriesHistory[] {
  const found = new Map<string, { key: SeriesKey; runs: SeriesRun[] }>();
  for (const run of measurements?.runs ?? []) {
    for (const series of run.series) {
      const { rank, device, metric, phase } = series;
      const key: SeriesKey = { rank, device, metric, ...(phase === undefined ? {} : { phase }) };
      const history = found.get(seriesName(key)) ?? { key, runs: [] };
      const { session, rerun = false, analysis_version: version = 1 } = run;
      history.runs.push({ session, rerun, version, series });
      found.set(seriesName(key), history);
    }
  }
  return [...found.values()].sort((a, b) => compareKeys(a.key, b.key));
}

/** From this version of the analysis on, `host` is what the tree holds; before, the sum that is `host_sum` now. */
const HELD_SINCE = 9;

/** Whether a baseline has host memory as earlier versions measured it, so that all is to be compared as they did. */
export const hasSummedHost = (baseline: Measurements | null): boolean =>
  baseline?.runs.some(
    ({ analysis_version = 1, series }) =>
      analysis_version < HELD_SINCE && series.some(({ metric }) => metric === "host"),
  ) ?? false;

/** Measurements with `host` as earlier versions measured it; a run has no `host_sum` where it is the same. */
export function withSummedHost(measurements: Measurements): Measurements {
  const runs = measurements.runs.map((run) => {
    const sums = run.series.filter(({ metric }) => metric === "host_sum");
    const series = run.series.map((one) =>
      one.metric === "host"
        ? { ...(sums.find(({ rank, phase }) => rank === one.rank && phase === one.phase) ?? one), metric: one.metric }
        : one,
    );
    return { ...run, series };
  });
  return { ...measurements, runs };
}

/** The series of both sides, paired, with those of one side alone, in the order of the keys. */
export function pairSeries(
  candidate: readonly SeriesHistory[],
  baseline: readonly SeriesHistory[],
): readonly {
  readonly key: SeriesKey;
  readonly candidate: readonly SeriesRun[];
  readonly baseline: readonly SeriesRun[];
}[] {
  const others = new Map(baseline.map((history) => [seriesName(history.key), history]));
  const pairs = candidate.map(({ key, runs }) => {
    const other = others.get(seriesName(key));
    others.delete(seriesName(key));
    return { key, candidate: runs, baseline: other?.runs ?? [] };
  });
  const missing = [...others.values()].map(({ key, runs }) => ({ key, candidate: [], baseline: runs }));
  return [...pairs, ...missing].sort((a, b) => compareKeys(a.key, b.key));
}

/** The known values of a quantity, each with its run. */
export function knownValues(
  runs: readonly SeriesRun[],
  quantity: (series: MeasuredSeries) => number | null,
): readonly { readonly session: string; readonly rerun: boolean; readonly value: number }[] {
  return runs.flatMap(({ session, rerun, series }) => {
    const value = quantity(series);
    return value === null ? [] : [{ session, rerun, value }];
  });
}

/** The most frequent class; among equals the last one. Null when no run has a class. */
export function commonClass(runs: readonly SeriesRun[]): DriftClass | null {
  const classes = runs.flatMap(({ series }) => (series.class === undefined ? [] : [series.class]));
  const count = (name: DriftClass | null): number => classes.filter((one) => one === name).length;
  return classes.reduce<DriftClass | null>((best, one) => (count(one) >= count(best) ? one : best), null);
}
