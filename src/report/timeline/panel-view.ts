import { plural } from "../../core/text.ts";
import { sameSeries } from "../../verdict/model/series-index.ts";
import { indexOfPeak } from "../model/decimate.ts";
import type { Timeline, TimelinePanel, TimelineSeries } from "../model/gate-report.ts";
import { known } from "../model/payload.ts";
import { seriesLabel } from "../wording/wording.ts";

export interface LimitView {
  readonly name: "limit" | "budget";
  readonly bytes: number;
  readonly isInside: boolean;
}

export interface BandView {
  readonly x: readonly number[];
  readonly low: readonly number[];
  readonly mid: readonly number[];
  readonly high: readonly number[];
  /** "baseline, 5 runs" */
  readonly label: string;
}

/** One series with its own axis of bytes, band and limits. */
export interface PanelView {
  readonly series: TimelineSeries;
  readonly label: string;
  readonly growth: TimelinePanel["growth"];
  /** Position of each sample on the axis: seconds or steps. */
  readonly x: Float64Array;
  readonly peak: { readonly x: number; readonly bytes: number } | null;
  readonly band: BandView | null;
  readonly limits: readonly LimitView[];
  /** Highest value that is drawn; above 0. */
  readonly high: number;
}

/** Panels that share an axis. */
export interface AxisView {
  readonly unit: "step" | "request" | "second";
  readonly from: number;
  readonly to: number;
  readonly panels: readonly PanelView[];
  /** Position of a time; one outside the steps is at the nearer end. */
  readonly positionOf: (time_s: number) => number;
}

/** A timeline as panels: those of the picture share an axis, and each other series has its own. */
export interface TimelineView {
  readonly deciding: AxisView;
  readonly others: readonly AxisView[];
}

interface PanelSource {
  readonly series: TimelineSeries;
  readonly panel: TimelinePanel;
}

/** The panels of a timeline; of one without any, which is of an earlier version, the main series alone decides. */
export function viewOf(timeline: Timeline): TimelineView {
  const ranked = rankSeries(timeline);
  const measured = ranked.map((series): PanelSource => ({ series, panel: panelOf(timeline, series, ranked[0]) }));
  const deciding = measured.filter(({ panel }) => panel.decides);
  const shown = deciding.length > 0 ? deciding : measured.slice(0, 1);
  return {
    deciding: axisView(shown, timeline),
    others: measured.filter((source) => !shown.includes(source)).map((source) => axisView([source], timeline)),
  };
}

function panelOf(timeline: Timeline, series: TimelineSeries, main: TimelineSeries | undefined): TimelinePanel {
  const { rank, device, metric } = series;
  const own = timeline.panels?.find((one) => sameSeries(one, series));
  if (own !== undefined) return own;
  const isMain = timeline.panels === undefined && series === main;
  return {
    rank,
    device,
    metric,
    decides: isMain,
    envelope: isMain ? timeline.envelope : null,
    threshold_bytes: isMain ? timeline.threshold_bytes : null,
    budget_bytes: isMain ? timeline.budget_bytes : null,
  };
}

/** Steps, where the series and its band count them and its peak is in one of them: no peak leaves the picture. */
function countsSteps({ series, panel }: PanelSource): boolean {
  const { steps, bytes, time_s } = series;
  if (steps === undefined || !Number.isFinite(steps[indexOfPeak(bytes, time_s)])) return false;
  const band = panel.envelope;
  return band === null || band.time_s.length === 0 || band.steps?.length === band.time_s.length;
}

function axisView(sources: readonly PanelSource[], timeline: Timeline): AxisView {
  const unit = sources.length > 0 && sources.every(countsSteps) ? (timeline.step_noun ?? "step") : "second";
  const panels = sources.map((source) => panelView(source, unit, timeline));
  let [from, to] = unit === "second" ? [0, 0] : [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { x, series, band } of panels) {
    const include = (at: number | undefined, bytes: number | undefined) => {
      if (at === undefined || bytes === undefined || !Number.isFinite(at) || !Number.isFinite(bytes)) return;
      if (at < from) from = at;
      if (at > to) to = at;
    };
    for (let i = 0; i < x.length; i++) include(x[i], series.bytes[i]);
    band?.x.forEach((at, i) => {
      include(at, band.mid[i]);
    });
  }
  if (!(to > from)) to = from + 1;
  const first = sources[0]?.series;
  const positionOf = (time_s: number) =>
    unit === "second" || first?.steps === undefined ? time_s : stepAt(first.time_s, first.steps, time_s);
  return { unit, from, to, panels, positionOf };
}

/** The step at a time, that of the nearest sample which has one. */
function stepAt(time_s: Float64Array, steps: Float64Array, at: number): number {
  let nearest = Number.NaN;
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < steps.length; i++) {
    const distance = Math.abs(time_s[i]! - at);
    if (Number.isFinite(steps[i]!) && distance < least) [nearest, least] = [steps[i]!, distance];
  }
  return nearest;
}

function panelView({ series, panel }: PanelSource, unit: AxisView["unit"], timeline: Timeline): PanelView {
  const x = unit === "second" ? series.time_s : series.steps!;
  const at = indexOfPeak(series.bytes, x);
  const peak = at < 0 ? null : { x: x[at]!, bytes: series.bytes[at]! };
  const band = bandView(panel, unit);
  let high = peak?.bytes ?? 0;
  for (const value of [...(band?.high ?? []), ...(band?.mid ?? [])]) if (value > high) high = value;
  const limits = limitsOf(panel, high);
  for (const { bytes, isInside } of limits) if (isInside && bytes > high) high = bytes;
  if (!(high > 0)) high = 1024;
  return { series, label: labelOf(series, timeline), growth: panel.growth, x, peak, band, limits, high };
}

/** The known limits of a series, the highest first. */
function limitsOf({ threshold_bytes, budget_bytes }: TimelinePanel, high: number): LimitView[] {
  const view = (name: LimitView["name"], given: number | null): LimitView[] => {
    const bytes = known(given);
    if (bytes === null || bytes < 0) return [];
    // A limit further above the data would squeeze the lines into the bottom of a panel; its label then has an arrow.
    return [{ name, bytes, isInside: high <= 0 || bytes <= high * 3 }];
  };
  return [...view("limit", threshold_bytes), ...view("budget", budget_bytes)].sort((a, b) => b.bytes - a.bytes);
}

/** The band without points that lack a value, as in documents from outside. */
function bandView({ envelope }: TimelinePanel, unit: AxisView["unit"]): BandView | null {
  if (envelope === null) return null;
  const { time_s, low_bytes, mid_bytes, high_bytes, runs } = envelope;
  const positions = unit === "second" ? time_s : (envelope.steps ?? []);
  const kept: { x: number; low: number; mid: number; high: number }[] = [];
  positions.forEach((x, i) => {
    const mid = mid_bytes[i] ?? Number.NaN;
    const [low, high] = [low_bytes[i] ?? mid, high_bytes[i] ?? mid];
    if ([x, low, mid, high].every(Number.isFinite)) kept.push({ x, low, mid, high });
  });
  if (kept.length === 0) return null;
  return {
    x: kept.map(({ x }) => x),
    low: kept.map(({ low }) => low),
    mid: kept.map(({ mid }) => mid),
    high: kept.map(({ high }) => high),
    label: runs === undefined ? "baseline" : `baseline, ${plural(runs, "run")}`,
  };
}

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

/** The label of a series: its metric, with rank and device where the timeline has several. */
function labelOf({ rank, device, metric }: TimelineSeries, timeline: Timeline): string {
  const ranks = new Set(timeline.series.map((item) => item.rank));
  const devices = new Set(timeline.series.map((item) => item.device));
  return seriesLabel({ rank, device: devices.size > 1 ? device : metric, metric }, ranks.size > 1);
}
