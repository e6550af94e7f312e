import type { Timeline } from "../documents/model.ts";
import { indexOfPeak } from "./decimate.ts";
import type { RankedTimeline } from "./timeline-model.ts";

export interface Domain {
  readonly timeTo_s: number;
  readonly low: number;
  readonly high: number;
  /** Whether the horizontal line fits into the picture; otherwise the legend names the limit. */
  readonly showsBudget: boolean;
  readonly showsThreshold: boolean;
}

/** A limit further above the data would squeeze the lines into the bottom of the picture. */
const FAR_LIMIT = 2;
/** Data that never leaves the top 40 % of a zero-based axis is shown without the empty part below. */
const ZOOM_ABOVE = 0.6;

/** The ranges of time and bytes that a timeline's picture shows; never empty. */
export function domainOf(timeline: Timeline, ranked: RankedTimeline): Domain {
  const { envelope, budget_bytes: budget, threshold_bytes: threshold } = timeline;
  let timeTo = 0;
  let low = Number.POSITIVE_INFINITY;
  let high = 0;
  const include = (time: ArrayLike<number>, bytes: ArrayLike<number>) => {
    for (let i = 0; i < bytes.length; i++) {
      const value = bytes[i]!;
      const at = time[i]!;
      if (!Number.isFinite(value) || !Number.isFinite(at)) continue;
      if (at > timeTo) timeTo = at;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  };
  for (const item of [ranked.main, ...ranked.others]) {
    if (item !== null) include(item.series.time_s, item.series.bytes);
  }
  if (envelope !== null) {
    include(envelope.time_s, envelope.low_bytes);
    include(envelope.time_s, envelope.high_bytes);
    if (indexOfPeak(envelope.high_bytes) < 0) include(envelope.time_s, envelope.mid_bytes);
  }
  const near = (limit: number | null): limit is number =>
    limit !== null && Number.isFinite(limit) && limit >= 0 && (high === 0 || limit <= high * FAR_LIMIT);
  const showsBudget = near(budget);
  const showsThreshold = near(threshold);
  if (showsBudget) high = Math.max(high, budget);
  if (showsThreshold) high = Math.max(high, threshold);
  if (!Number.isFinite(low)) low = 0;
  if (showsBudget) low = Math.min(low, budget);
  if (showsThreshold) low = Math.min(low, threshold);
  if (high <= 0) high = 1024;
  if (timeTo <= 0) timeTo = 1;
  const zoomed = low > high * ZOOM_ABOVE && low < high;
  const pad = zoomed ? (high - low) * 0.12 : high * 0.1;
  return { timeTo_s: timeTo, low: zoomed ? Math.max(0, low - pad) : 0, high: high + pad, showsBudget, showsThreshold };
}
