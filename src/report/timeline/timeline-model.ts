import { metricLabel } from "../../telemetry/recording/metrics.ts";
import { indexOfPeak } from "../model/decimate.ts";
import type { Timeline, TimelineSeries } from "../model/gate-report.ts";

/**
 * The series with a sample, by importance. The first is the one the verdict is about, or that of the baseline's band,
 * or the gating one with the highest peak. Then other gating series, those of its rank and device, the rest, by peak.
 */
export function rankSeries(timeline: Timeline): readonly TimelineSeries[] {
  const chosen = timeline.about ?? timeline.envelope;
  const measured = timeline.series.flatMap((series) => {
    const at = indexOfPeak(series.bytes, series.time_s);
    return at < 0 ? [] : [{ series, peak: series.bytes[at]! }];
  });
  const sorted = (weight: (series: TimelineSeries) => number) =>
    measured.sort((a, b) => weight(a.series) - weight(b.series) || b.peak - a.peak);
  const [main] = sorted((series) => (chosen !== null && sameSeries(series, chosen) ? 0 : series.gating ? 1 : 2));
  const isBeside = ({ rank, device }: TimelineSeries) => rank === main?.series.rank && device === main.series.device;
  const ranked = sorted((series) => (series === main?.series ? 0 : series.gating ? 1 : isBeside(series) ? 2 : 3));
  return ranked.map(({ series }) => series);
}

function sameSeries(a: { rank: number; device: string; metric: string }, b: typeof a): boolean {
  return a.rank === b.rank && a.device === b.device && a.metric === b.metric;
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
