import { escapeMermaid } from "../../core/escape.ts";
import { cutText } from "../../core/text.ts";
import { GIB, KIB, MIB } from "../../core/units.ts";
import type { Timeline } from "../documents/model.ts";
import { domainOf } from "../timeline/domain.ts";
import { rankSeries, seriesLabel, withUsableLimits } from "../timeline/timeline-model.ts";

const POINTS = 60;
const MAX_OTHERS = 1;

interface Plot {
  readonly name: string;
  readonly color: { readonly name: string; readonly hex: string };
  readonly values: readonly number[];
}

/**
 * A timeline as a mermaid chart without its fence; null when there is nothing to draw. The title names the colours
 * because older mermaid versions draw no legend; each colour contrasts with a white and with a dark page.
 */
export function renderMermaid(given: Timeline): string | null {
  const timeline = withUsableLimits(given);
  const ranked = rankSeries(timeline);
  const { main } = ranked;
  if (main === null) return null;
  const domain = domainOf(timeline, ranked);
  const unit = unitFor(domain.high);
  const grid = { to: domain.timeTo_s, points: POINTS };

  const plots: Plot[] = [];
  const add = (name: string, color: Plot["color"], values: readonly number[] | null) => {
    if (values !== null) plots.push({ name, color, values: values.map((value) => value / unit.bytes) });
  };
  const flat = (bytes: number) => new Array<number>(POINTS).fill(bytes);
  if (timeline.envelope !== null) {
    add(
      "baseline",
      { name: "light grey", hex: "#8c959f" },
      alternatingExtremes(timeline.envelope.time_s, timeline.envelope.mid_bytes, grid),
    );
  }
  if (domain.showsThreshold && timeline.threshold_bytes !== null) {
    add("limit", { name: "orange", hex: "#d55e00" }, flat(timeline.threshold_bytes));
  }
  if (domain.showsBudget && timeline.budget_bytes !== null) {
    add("budget", { name: "purple", hex: "#8250df" }, flat(timeline.budget_bytes));
  }
  for (const other of ranked.others.slice(0, MAX_OTHERS)) {
    const label = seriesLabel(other.series, timeline);
    add(label, { name: "pink", hex: "#cc79a7" }, alternatingExtremes(other.series.time_s, other.series.bytes, grid));
  }
  const label = seriesLabel(main.series, timeline);
  add(label, { name: "blue", hex: "#1f8fd6" }, alternatingExtremes(main.series.time_s, main.series.bytes, grid));

  const legend = [...plots].reverse().map((plot) => `${plot.name} (${plot.color.name})`);
  return [
    "---",
    "config:",
    "    xyChart: {width: 1000, height: 380}",
    "    themeVariables:",
    `        xyChart: {plotColorPalette: "${plots.map((plot) => plot.color.hex).join(",")}"}`,
    "---",
    "xychart-beta",
    `    title "${text(legend.join(", "), 160)}"`,
    `    x-axis "seconds" 0 --> ${number(domain.timeTo_s)}`,
    `    y-axis "${unit.name}" ${number(domain.low / unit.bytes)} --> ${number(domain.high / unit.bytes)}`,
    ...plots.map((plot) => `    line "${text(plot.name, 60)}" [${plot.values.map(number).join(", ")}]`),
  ].join("\n");
}

/**
 * Exactly `points` values evenly over the time: the lowest and the highest of each interval in their order, so that no
 * extreme is lost. An empty interval repeats its neighbour because mermaid draws no gaps. Null when nothing is finite.
 */
function alternatingExtremes(
  time_s: ArrayLike<number>,
  bytes: ArrayLike<number>,
  grid: { readonly to: number; readonly points: number },
): number[] | null {
  const buckets = grid.points / 2;
  const low = new Int32Array(buckets).fill(-1);
  const high = new Int32Array(buckets).fill(-1);
  for (let i = 0; i < bytes.length; i++) {
    const value = bytes[i]!;
    const time = time_s[i]!;
    if (!Number.isFinite(value) || !Number.isFinite(time)) continue;
    const at = Math.min(buckets - 1, Math.max(0, Math.floor((time / grid.to) * buckets)));
    if (low[at]! < 0 || value < bytes[low[at]!]!) low[at] = i;
    if (high[at]! < 0 || value > bytes[high[at]!]!) high[at] = i;
  }
  const values: number[] = [];
  let last = -1;
  for (let at = 0; at < buckets; at++) {
    if (low[at]! >= 0) {
      const pair = [low[at]!, high[at]!].sort((a, b) => a - b);
      values.push(bytes[pair[0]!]!, bytes[pair[1]!]!);
      last = values[values.length - 1]!;
    } else {
      values.push(last, last);
    }
  }
  if (last < 0 && values.every((value) => value < 0)) return null;
  const first = values.find((value) => value >= 0) ?? 0;
  return values.map((value) => (value < 0 ? first : value));
}

function unitFor(bytes: number): { readonly name: string; readonly bytes: number } {
  if (bytes >= GIB) return { name: "GiB", bytes: GIB };
  if (bytes >= MIB) return { name: "MiB", bytes: MIB };
  return { name: "KiB", bytes: KIB };
}

function number(value: number): string {
  return String(Number(value.toPrecision(5)));
}

function text(value: string, most: number): string {
  return escapeMermaid(cutText(value, most));
}
