import { metricLabel } from "../../telemetry/recording/metrics.ts";
import type { Timeline, TimelineSeries } from "../documents/model.ts";
import { known } from "../documents/payload.ts";
import { indexOfPeak } from "./decimate.ts";

/** Series drawn as lines; of the others only the highest is named. */
const MAX_LINES = 8;

interface RankedSeries {
  readonly series: TimelineSeries;
  /** Highest finite sample and when it was; null when the series has none. */
  readonly peak: { readonly time_s: number; readonly bytes: number } | null;
}

export interface RankedTimeline {
  /** The series the picture is about; null when nothing was measured. */
  readonly main: RankedSeries | null;
  /** Drawn thinner, at most {@link MAX_LINES} - 1. */
  readonly others: readonly RankedSeries[];
  /** Not drawn. */
  readonly hidden: readonly RankedSeries[];
}

/**
 * The series by importance. The main series is the one the verdict is about, or that of the baseline's band, or the
 * gating one with the highest peak. Then other gating series, those of its rank and device, the rest, each by peak.
 */
export function rankSeries(timeline: Timeline): RankedTimeline {
  const all = timeline.series.map((series): RankedSeries => {
    const at = indexOfPeak(series.bytes, series.time_s);
    return { series, peak: at < 0 ? null : { time_s: series.time_s[at]!, bytes: series.bytes[at]! } };
  });
  const chosen = timeline.about ?? timeline.envelope;
  const weight = ({ series, peak }: RankedSeries, main: TimelineSeries | null): number => {
    if (peak === null) return 9;
    if (main === null && chosen !== null && sameSeries(series, chosen)) return 0;
    if (series.gating) return 1;
    return main !== null && series.rank === main.rank && series.device === main.device ? 2 : 3;
  };
  const sorted = (items: readonly RankedSeries[], main: TimelineSeries | null) =>
    [...items].sort((a, b) => weight(a, main) - weight(b, main) || (b.peak?.bytes ?? -1) - (a.peak?.bytes ?? -1));
  const [main, ...rest] = sorted(all, null);
  if (main === undefined || main.peak === null) return { main: null, others: [], hidden: all };
  const ordered = sorted(rest, main.series);
  const drawn = ordered.filter((item) => item.peak !== null).slice(0, MAX_LINES - 1);
  return { main, others: drawn, hidden: ordered.filter((item) => !drawn.includes(item)) };
}

function sameSeries(a: { rank: number; device: string; metric: string }, b: typeof a): boolean {
  return a.rank === b.rank && a.device === b.device && a.metric === b.metric;
}

/** The timeline without limits that are not finite: such a limit is unknown. */
export function withUsableLimits(timeline: Timeline): Timeline {
  const { budget_bytes: budget, threshold_bytes: threshold } = timeline;
  return { ...timeline, budget_bytes: known(budget), threshold_bytes: known(threshold) };
}

/** The label of a series: its metric, with rank and device where the timeline has several. */
export function seriesLabel(series: TimelineSeries, timeline: Timeline): string {
  const ranks = new Set(timeline.series.map((item) => item.rank));
  const devices = new Set(timeline.series.map((item) => item.device));
  const parts: string[] = [];
  if (ranks.size > 1) parts.push(`rank ${series.rank}`);
  if (devices.size > 1 && series.device !== series.metric) parts.push(series.device);
  parts.push(metricLabel(series.metric));
  return parts.join(" ");
}
