import { LINE_COLORS, THEMES } from "../../report/drawing/palette.ts";
import { byteTicks, labelsWithUnit, ticks } from "../../report/drawing/scale.ts";
import { END, MIDDLE, svgText } from "../../report/drawing/svg.ts";
import { fitText, textWidth } from "../../report/drawing/text-width.ts";
import type { LabCurve } from "./curve.ts";
import type { LabPattern } from "./document.ts";
import { patternRatioText } from "./table.ts";

/** A pattern in one round: its row, and the curves of its states where samples were kept. */
export interface PanelLayout {
  /** Name of the round. Its index chooses the colour. */
  readonly name: string;
  readonly index: number;
  readonly pattern: LabPattern;
  readonly leaky: LabCurve | null;
  readonly fixed: LabCurve | null;
}

export interface PanelBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const TITLE_SIZE = 19;
const TEXT_SIZE = 16;
const HEAD = 54;
const FOOT = 26;
/** Data that stays within the top 40 % is shown without the empty part below, as in a timeline. */
const ZOOM_ABOVE = 0.6;

export const STATE_STYLES = { leaky: { width: 2.8, dash: "" }, fixed: { width: 2, dash: "6 5" } } as const;

export function colorOf(index: number): string {
  return LINE_COLORS[index % LINE_COLORS.length] ?? LINE_COLORS[0];
}

/** A line in the panel's own units: x from 0 to 1, y in bytes or in multiples of the fixed state's peak. */
interface DrawnLine {
  readonly state: "leaky" | "fixed";
  readonly index: number;
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly ranOut: boolean;
}

/** Lines of a round; one that ended early is short. @param relative heights are multiples of the fixed peak */
function linesOf({ index, pattern, leaky, fixed }: PanelLayout, relative: boolean): readonly DrawnLine[] {
  const unit = relative ? (pattern.fixed?.peak_bytes ?? null) : 1;
  if (unit === null || unit === 0) return [];
  const curves = { leaky, fixed };
  return (["fixed", "leaky"] as const).flatMap((state): DrawnLine[] => {
    const curve = curves[state];
    if (curve === null) return [];
    const other = curves[state === "leaky" ? "fixed" : "leaky"];
    const longest = other !== null && other.axis === curve.axis ? Math.max(curve.length, other.length) : curve.length;
    const scale = longest === 0 ? 1 : curve.length / longest;
    return [
      {
        state,
        index,
        x: Array.from(curve.at, (at) => at * scale),
        y: Array.from(curve.bytes, (bytes) => bytes / unit),
        ranOut: Boolean(pattern[state]?.out_of_memory),
      },
    ];
  });
}

/** Range of heights: from 0, or from near the lowest value where all are high. */
function heights(lines: readonly DrawnLine[]): { readonly low: number; readonly high: number } {
  let [low, high] = [Number.POSITIVE_INFINITY, 0];
  for (const value of lines.flatMap(({ y }) => y)) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (high <= 0) return { low: 0, high: 1 };
  if (low > ZOOM_ABOVE * high && low < high) {
    const pad = (high - low) * 0.12;
    return { low: Math.max(0, low - pad), high: high + pad };
  }
  return { low: 0, high: high * 1.08 };
}

/** The last steps of a run may be missing: runs of nearly equal length have one label. */
const SAME_LENGTH = 0.97;

/** Length of the runs of a panel, where all its lines have the same. */
function lengthText(layouts: readonly PanelLayout[]): string {
  const curves = layouts.flatMap(({ leaky, fixed }) => [leaky, fixed]).filter((curve) => curve !== null);
  const longest = Math.max(...curves.map(({ length }) => length));
  if (curves.length > 0 && curves.every(({ axis }) => axis === "steps")) {
    const perRound = layouts.map(({ leaky, fixed }) => Math.max(leaky?.length ?? 0, fixed?.length ?? 0));
    if (perRound.every((length) => length === 0 || length >= SAME_LENGTH * longest)) return `${longest} steps`;
  }
  return "end of the run";
}

function heading(layouts: readonly PanelLayout[], name: string, box: PanelBox, named: boolean): string {
  const title = svgText(fitText(name, TITLE_SIZE, box.width), box.x, box.y + 20, TITLE_SIZE, THEMES.light.text);
  const parts = layouts.map(({ name: layout, index, pattern }) => {
    const text = named ? `${layout} ${patternRatioText(pattern)}` : patternRatioText(pattern);
    return { text, color: named ? colorOf(index) : THEMES.light.soft };
  });
  let x = box.x;
  const ratios = parts.map(({ text, color }) => {
    const shown = fitText(text, TEXT_SIZE, Math.max(0, box.x + box.width - x));
    const out = svgText(shown, x, box.y + 42, TEXT_SIZE, color);
    x += textWidth(shown, TEXT_SIZE) + 18;
    return out;
  });
  return title + ratios.join("");
}

/** Why a panel is empty. */
function emptyText(layouts: readonly PanelLayout[]): string {
  const reason = layouts.map(({ pattern }) => pattern.reason).find((text) => text !== null);
  return reason ?? "no samples were kept";
}

/** One panel; outside text is escaped and truncated. @param relative heights are multiples of the fixed peak */
export function drawPanel(name: string, layouts: readonly PanelLayout[], box: PanelBox, relative: boolean): string {
  const lines = layouts.flatMap((layout) => linesOf(layout, relative));
  const [top, bottom] = [box.y + HEAD, box.y + box.height - FOOT];
  const head = heading(layouts, name, box, relative);
  if (lines.length === 0) {
    const text = fitText(emptyText(layouts), TEXT_SIZE, box.width - 24);
    return `${head}<rect x="${box.x}" y="${top}" width="${box.width}" height="${bottom - top}" fill="${THEMES.light.grid}" fill-opacity="0.45"/>${svgText(text, box.x + box.width / 2, (top + bottom) / 2 + 6, TEXT_SIZE, THEMES.light.soft, MIDDLE)}`;
  }
  const { low, high } = heights(lines);
  const sizes = relative ? ticks(low, high, 5, { unit: "x" }) : byteTicks(low, high, 4);
  const labels = labelsWithUnit(sizes, relative ? "" : " ");
  const room = Math.max(...labels.map((label) => textWidth(label, TEXT_SIZE)), 30);
  const [left, right] = [box.x + room + 8, box.x + box.width];
  const xOf = (share: number): number => left + share * (right - left);
  const yOf = (value: number): number => bottom - ((value - low) / (high - low)) * (bottom - top);
  const grid = sizes.values.map((value, i) => {
    const y = yOf(value).toFixed(1);
    const ink = relative && value === 1 ? THEMES.light.soft : THEMES.light.grid;
    const line = `<path d="M${left.toFixed(1)} ${y}H${right}" stroke="${ink}" stroke-width="1.2"/>`;
    // At the very top its number would touch the heading.
    if (yOf(value) - top < TEXT_SIZE / 2) return line;
    return line + svgText(labels[i] ?? "", left - 8, yOf(value) + 5.5, TEXT_SIZE, THEMES.light.soft, END);
  });
  const paths = lines.map(({ state, index, x, y, ranOut }) => {
    const points = x.map((at, i) => `${i === 0 ? "M" : "L"}${xOf(at).toFixed(1)} ${yOf(y[i] ?? low).toFixed(1)}`);
    const { width, dash } = STATE_STYLES[state];
    const dashes = dash === "" ? "" : ` stroke-dasharray="${dash}"`;
    // A lone sample has no length; the short stroke with round ends makes it a dot.
    const path = `<path d="${points.join("")}${points.length === 1 ? "h2.5" : ""}" fill="none" stroke="${colorOf(index)}" stroke-width="${width}"${dashes} stroke-linejoin="round" stroke-linecap="round"/>`;
    return ranOut ? path + ranOutMark(xOf(x.at(-1) ?? 0), yOf(y.at(-1) ?? low), left, right) : path;
  });
  const foot = `<path d="M${left.toFixed(1)} ${bottom}H${right}" stroke="${THEMES.light.soft}" stroke-width="1.4"/>${svgText(lengthText(layouts), right, bottom + 20, TEXT_SIZE, THEMES.light.soft, END)}`;
  return [head, ...grid, ...paths, foot].join("");
}

/** A cross where a run ended, with its label on the side that has the space. */
function ranOutMark(x: number, y: number, left: number, right: number): string {
  const label = "out of memory";
  const fits = x + 14 + textWidth(label, TEXT_SIZE) <= right;
  const at = fits ? x + 12 : Math.max(x - 12, left + textWidth(label, TEXT_SIZE));
  return `<path d="M${(x - 6).toFixed(1)} ${(y - 6).toFixed(1)}l12 12m0 -12l-12 12" stroke="${THEMES.light.excess}" stroke-width="3"/>${svgText(label, at, y + 6, TEXT_SIZE, THEMES.light.excess, fits ? "" : END)}`;
}
