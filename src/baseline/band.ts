import * as v from "valibot";
import type { DeepReadonly } from "../core/json.ts";
import { METRICS } from "../telemetry/recording/metrics.ts";

const points = v.pipe(v.array(v.pipe(v.number(), v.finite())), v.maxLength(200));

/** Band of the baseline's runs over time: lowest, median and highest value at up to 200 points. Never judged. */
export const BandSchema = v.object({
  rank: v.pipe(v.number(), v.integer(), v.minValue(0)),
  device: v.string(),
  metric: v.picklist(METRICS),
  /** Seconds since the start of the run, ascending. */
  time_s: points,
  low_bytes: points,
  mid_bytes: points,
  high_bytes: points,
  /** Step of each point, ascending, where every run counts steps; the points then cover the steps alone. */
  steps: v.exactOptional(points),
  /** Number of runs; absent in records of earlier versions. */
  runs: v.exactOptional(v.pipe(v.number(), v.safeInteger(), v.minValue(1))),
});
export type Band = DeepReadonly<v.InferOutput<typeof BandSchema>>;

/** One run's series for the band: ascending seconds, bytes, NaN = gap. */
export interface BandSeries extends Pick<Band, "rank" | "device" | "metric"> {
  readonly time_s: Float64Array;
  /** Ascending, NaN outside steps; null without steps. */
  readonly steps?: Float64Array | null;
  readonly bytes: Float64Array;
}

const POINTS = 100;

/** The range of an axis that a band divides into {@link POINTS} equal spans. */
interface Axis {
  readonly from: number;
  readonly to: number;
}

function spanOf(at: number, { from, to }: Axis): number {
  return Math.min(POINTS - 1, Math.floor(((at - from) / (to - from)) * POINTS));
}

/** Highest value of each span of an axis, and the time at which the run reached it; NaN for one without samples. */
function highestPerSpan({ time_s, steps, bytes }: BandSeries, axis: Axis, isStepped: boolean) {
  const highest = new Float64Array(POINTS).fill(Number.NaN);
  const times = new Float64Array(POINTS).fill(Number.NaN);
  for (let index = 0; index < bytes.length; index += 1) {
    const value = bytes[index]!;
    const at = isStepped ? steps![index]! : time_s[index]!;
    // 0 means that the run had not begun or was over, not that it used little memory.
    if (Number.isNaN(value) || value === 0 || Number.isNaN(at)) continue;
    const span = spanOf(at, axis);
    if (Number.isNaN(times[span]!)) times[span] = time_s[index]!;
    if (!(highest[span]! >= value)) highest[span] = value;
  }
  return { highest, times };
}

/** Steps, where every run counts them, else seconds from 0; null when no run has a length. */
function axisOf(runs: readonly BandSeries[]): (Axis & { readonly isStepped: boolean }) | null {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  if (runs.every(({ steps }) => steps?.some(Number.isFinite))) {
    for (const step of runs.flatMap(({ steps }) => [
      steps!.find(Number.isFinite)!,
      steps!.findLast(Number.isFinite)!,
    ])) {
      from = Math.min(from, step);
      to = Math.max(to, step);
    }
    if (from < to) return { from, to, isStepped: true };
  }
  to = Math.max(0, ...runs.map(({ time_s }) => time_s.at(-1) ?? 0));
  return to > 0 ? { from: 0, to, isStepped: false } : null;
}

/**
 * Number of points of a band over time that are drawn: where one of several runs ends it only frees its memory, and
 * afterwards the band would be that of the others.
 */
function pointsBeforeAnEnd(spans: readonly { readonly highest: Float64Array }[]): number {
  if (spans.length < 2) return POINTS;
  return Math.max(1, Math.min(...spans.map(({ highest }) => highest.findLastIndex((value) => !Number.isNaN(value)))));
}

/**
 * Lowest, median and highest value of several runs of one series at up to 100 points of the longest run's span. A point
 * takes each run's highest value in its span, so that peaks are never thinned out. Null without samples.
 */
export function buildBand(runs: readonly BandSeries[]): Band | null {
  const first = runs[0];
  const axis = axisOf(runs);
  if (first === undefined || axis === null) return null;
  const spans = runs.map((run) => highestPerSpan(run, axis, axis.isStepped));
  const time: number[] = [];
  const steps: number[] = [];
  const low: number[] = [];
  const mid: number[] = [];
  const high: number[] = [];
  const points = axis.isStepped ? POINTS : pointsBeforeAnEnd(spans);
  for (let point = 0; point < points; point += 1) {
    const values = spans.map(({ highest }) => highest[point]!).filter((value) => !Number.isNaN(value));
    if (values.length === 0) continue;
    const center = axis.from + ((point + 0.5) / POINTS) * (axis.to - axis.from);
    if (axis.isStepped) {
      steps.push(Number(center.toPrecision(5)));
      const times = sorted(spans.map(({ times }) => times[point]!).filter((at) => !Number.isNaN(at)));
      time.push(Math.max(time.at(-1) ?? 0, Number(middle(times).toPrecision(4))));
    } else {
      time.push(Number(center.toPrecision(4)));
    }
    sorted(values);
    low.push(values[0]!);
    mid.push(middle(values));
    high.push(values.at(-1)!);
  }
  const { rank, device, metric } = first;
  if (time.length === 0) return null;
  return {
    rank,
    device,
    metric,
    time_s: time,
    low_bytes: low,
    mid_bytes: mid,
    high_bytes: high,
    ...(axis.isStepped ? { steps } : {}),
    runs: runs.length,
  };
}

function sorted(values: number[]): number[] {
  return values.sort((a, b) => a - b);
}

function middle(values: readonly number[]): number {
  return values[Math.floor((values.length - 1) / 2)]!;
}
