import { formatBytes } from "../../core/units.ts";
import type { GateReport, ScenarioReport, Timeline, TimelineSeries, Verdict } from "../documents/model.ts";
import { indexOfPeak } from "./decimate.ts";

/** At most this many series get a line of their own; the rest is named by its worst. */
export const MAX_LINES = 8;

export interface RankedSeries {
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
 * Put the series into the order of their importance: the one the verdict is about, or the baseline envelope belongs to, else
 * the gating series with the highest peak; then the other gating series, then what
 * explains the main series, then the rest, each by peak.
 */
export function rankSeries(timeline: Timeline): RankedTimeline {
  const all = timeline.series.map((series): RankedSeries => {
    const at = indexOfPeak(series.bytes, series.time_s);
    return { series, peak: at < 0 ? null : { time_s: series.time_s[at]!, bytes: series.bytes[at]! } };
  });
  const chosen = timeline.about ?? timeline.envelope;
  const weight = ({ series, peak }: RankedSeries, main: TimelineSeries | null): number => {
    if (peak === null) return 9;
    if (main === null && chosen !== null && samePlace(series, chosen)) return 0;
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

function samePlace(a: { rank: number; device: string; metric: string }, b: typeof a): boolean {
  return a.rank === b.rank && a.device === b.device && a.metric === b.metric;
}

/** The timeline with limits that are no number taken away: such a limit is unknown, not a line. */
export function withUsableLimits(timeline: Timeline): Timeline {
  const usable = (bytes: number | null) => (bytes !== null && Number.isFinite(bytes) ? bytes : null);
  return {
    ...timeline,
    budget_bytes: usable(timeline.budget_bytes),
    threshold_bytes: usable(timeline.threshold_bytes),
  };
}

/** How a series is called: its metric, plus rank and device where the timeline has more than one of them. */
export function seriesLabel(series: TimelineSeries, timeline: Timeline): string {
  const ranks = new Set(timeline.series.map((item) => item.rank));
  const devices = new Set(timeline.series.map((item) => item.device));
  const parts: string[] = [];
  if (ranks.size > 1) parts.push(`rank ${series.rank}`);
  if (devices.size > 1 && series.device !== series.metric) parts.push(series.device);
  parts.push(series.metric);
  return parts.join(" ");
}

/** One line about the series that got none of their own; null when all were drawn. */
export function hiddenSummary(ranked: RankedTimeline, timeline: Timeline): string | null {
  const count = ranked.hidden.length;
  if (count === 0) return null;
  const worst = ranked.hidden.reduce((a, b) => ((b.peak?.bytes ?? -1) > (a.peak?.bytes ?? -1) ? b : a));
  if (worst.peak === null) return `+${count} without a value`;
  return `+${count} more, highest ${formatBytes(worst.peak.bytes)} (${seriesLabel(worst.series, timeline)})`;
}

const BY_URGENCY: readonly Verdict[] = ["fail", "error", "unjudged", "warn", "pass"];

/** The scenario a picture for the whole report shows: the worst one, the first of equals, preferring one that has a timeline. */
export function worstScenario(report: GateReport): ScenarioReport | null {
  let worst: ScenarioReport | null = null;
  for (const scenario of report.scenarios) {
    if (worst === null || urgency(scenario) < urgency(worst)) worst = scenario;
  }
  return worst;
}

/** Smaller is more urgent. */
export function urgency(scenario: ScenarioReport): number {
  return BY_URGENCY.indexOf(scenario.word) + (scenario.timeline === null ? 0.5 : 0);
}
