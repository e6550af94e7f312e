import { collectSeries, type MetricSeries } from "../../analysis/series/series.ts";
import type { Recording } from "../../telemetry/recording/model.ts";

/** One state of a pattern as a curve: the highest value in each bin of the run. */
export interface LabCurve {
  /** Unit of the run's length. */
  readonly axis: "steps" | "time" | "samples";
  /** Length of the run in steps, seconds or samples. */
  readonly length: number;
  /** Position of each value, 0 = begin of the run (its first step), 1 = its end. */
  readonly at: Float64Array;
  readonly bytes: Float64Array;
}

/** The series to draw; without a rank, that of the first rank. */
export interface CurveSeries {
  readonly device: string;
  readonly metric: string;
  readonly rank?: number | undefined;
}

/** Bins of a run, with one value each: about the width of a panel in pixels. */
const BINS = 180;

interface Samples {
  readonly axis: LabCurve["axis"];
  readonly x: readonly number[];
  readonly y: readonly number[];
}

/** "cuda" of "cuda:1". */
export const kindOf = (device: string): string => device.replace(/:.*$/, "");

/** The series of this device and rank, else of the device, else of the first device of the same kind. */
function found(recording: Recording, { device, metric, rank }: CurveSeries): MetricSeries | undefined {
  const all = collectSeries(recording).filter((series) => series.metric === metric);
  return (
    all.find((series) => series.device === device && series.rank === rank) ??
    all.find((series) => series.device === device) ??
    all.find((series) => kindOf(series.device) === kindOf(device))
  );
}

/** All samples, over steps where they are counted, else over time, else one after the other. */
function samplesOf({ bytes, steps, timeNs }: MetricSeries): Samples | null {
  const axis = steps?.some(Number.isFinite) ? "steps" : timeNs !== null ? "time" : "samples";
  const x: number[] = [];
  const y: number[] = [];
  for (const [i, value] of bytes.entries()) {
    const at = axis === "steps" ? steps?.[i] : axis === "time" ? (timeNs?.[i] ?? Number.NaN) / 1e9 : i;
    if (at === undefined || !Number.isFinite(at) || !Number.isFinite(value)) continue;
    x.push(at);
    y.push(value);
  }
  return x.length === 0 ? null : { axis, x, y };
}

/**
 * The curve of one series; null without samples. Like the analysis it prefers samples at step ends, which memory that
 * a step takes and frees does not blur. Every bin keeps its highest sample at its position, so no spike is lost.
 */
export function labCurve(recording: Recording, series: CurveSeries): LabCurve | null {
  const chosen = found(recording, series);
  const samples = chosen === undefined ? null : samplesOf(chosen);
  if (samples === null) return null;
  const { axis, x, y } = samples;
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const at of x) {
    if (at < first) first = at;
    if (at > last) last = at;
  }
  const length = last - first;
  const kept = new Map<number, { readonly at: number; readonly value: number }>();
  for (const [i, at] of x.entries()) {
    const share = length === 0 ? 0 : (at - first) / length;
    const bin = Math.min(BINS - 1, Math.floor(share * BINS));
    const value = y[i] ?? Number.NEGATIVE_INFINITY;
    const known = kept.get(bin);
    if (known === undefined || value > known.value) kept.set(bin, { at: share, value });
  }
  const points = [...kept.values()].sort((a, b) => a.at - b.at);
  return {
    axis,
    // Steps 1 to 60 are 60 steps.
    length: axis === "time" ? length : length + 1,
    at: Float64Array.from(points, ({ at }) => at),
    bytes: Float64Array.from(points, ({ value }) => value),
  };
}
