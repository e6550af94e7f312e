import type { Metric } from "../telemetry/recording/model.ts";

/** Band of the baseline's runs over time: lowest, median and highest value at up to 200 points. Never judged. */
export interface Envelope {
  readonly rank: number;
  readonly device: string;
  readonly metric: Metric;
  /** Seconds since the start of the run, ascending. */
  readonly time_s: readonly number[];
  readonly low_bytes: readonly number[];
  readonly mid_bytes: readonly number[];
  readonly high_bytes: readonly number[];
}

/** One run's series for the band: ascending seconds, bytes, NaN = gap. */
export interface EnvelopeSeries {
  readonly rank: number;
  readonly device: string;
  readonly metric: Metric;
  readonly time_s: Float64Array;
  readonly bytes: Float64Array;
}

const POINTS = 100;

/** Highest value of each of {@link POINTS} equal spans of `duration`; NaN for a span without samples. */
function highestPerSpan(series: EnvelopeSeries, duration: number): Float64Array {
  const highest = new Float64Array(POINTS).fill(Number.NaN);
  for (let index = 0; index < series.time_s.length; index += 1) {
    const value = series.bytes[index] as number;
    // 0 means that the run had not begun or was over, not that it used little memory.
    if (Number.isNaN(value) || value === 0) continue;
    const span = Math.min(POINTS - 1, Math.floor(((series.time_s[index] as number) / duration) * POINTS));
    const known = highest[span] as number;
    if (!(known >= value)) highest[span] = value;
  }
  return highest;
}

/**
 * Lowest, median and highest value of several runs of one series at 100 points of the longest run's span. A point takes
 * each run's highest value in its span, so that peaks are never thinned out. Null without samples.
 */
export function buildEnvelope(runs: readonly EnvelopeSeries[]): Envelope | null {
  const first = runs[0];
  const duration = Math.max(0, ...runs.map(({ time_s }) => time_s.at(-1) ?? 0));
  if (first === undefined || duration <= 0) return null;
  const spans = runs.map((run) => highestPerSpan(run, duration));
  const time: number[] = [];
  const low: number[] = [];
  const mid: number[] = [];
  const high: number[] = [];
  for (let point = 0; point < POINTS; point += 1) {
    const values = spans.map((span) => span[point] as number).filter((value) => !Number.isNaN(value));
    if (values.length === 0) continue;
    values.sort((a, b) => a - b);
    time.push(Number((((point + 0.5) / POINTS) * duration).toPrecision(4)));
    low.push(values[0] as number);
    mid.push(values[Math.floor((values.length - 1) / 2)] as number);
    high.push(values.at(-1) as number);
  }
  const { rank, device, metric } = first;
  return time.length === 0
    ? null
    : { rank, device, metric, time_s: time, low_bytes: low, mid_bytes: mid, high_bytes: high };
}
