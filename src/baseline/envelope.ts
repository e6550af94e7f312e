import type { Metric } from "../telemetry/model.ts";

/**
 * What the baseline's runs looked like over time, for the chart only: at most 200 points, the lowest, middle and highest
 * value of all runs at each point. Never judged.
 */
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
