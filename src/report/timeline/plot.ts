import { escapeHtml } from "../../core/escape.ts";
import { formatBytes } from "../../core/units.ts";
import type { Timeline } from "../documents/model.ts";
import { decimate, type Line } from "./decimate.ts";
import type { Domain } from "./domain.ts";
import { BASELINE, BUDGET_LINE, INK, LIMIT_LINE, LINE_STYLES } from "./palette.ts";
import { drawPhases, PHASE_STRIP } from "./phases.ts";
import { fitText, textWidth } from "./text-width.ts";
import type { RankedTimeline } from "./timeline-model.ts";

/** The position of the plot in the picture (pixels) and the data it shows. */
export interface Plane {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly domain: Domain;
}

const LABEL_SIZE = 17;
const MAX_MARKS = 6;

/** Everything inside the axes. */
export function drawPlot(timeline: Timeline, ranked: RankedTimeline, plane: Plane): string {
  const out: string[] = [];
  const { left, right, top, bottom, domain } = plane;
  const clip = `<clipPath id="plot"><rect x="${left}" y="${top - 4}" width="${right - left}" height="${bottom - top + 5}"/></clipPath>`;
  out.push(`<defs>${clip}</defs>`);
  const { main, others } = ranked;
  if (main === null) {
    out.push(
      `<text x="${(left + right) / 2}" y="${(top + bottom) / 2}" font-size="22" fill="${INK.soft}" text-anchor="middle">No memory samples were recorded.</text>`,
    );
  }
  const mainLine = main === null ? null : columns(main.series, plane);
  if (mainLine !== null) {
    out.push(
      `<path d="${areaPath(mainLine, bottom, plane)}" fill="${LINE_STYLES[0].color}" fill-opacity="0.07" clip-path="url(#plot)"/>`,
    );
  }
  out.push(drawEnvelope(timeline, plane));
  const limits = shownLimits(timeline, domain);
  if (mainLine !== null && limits.length > 0) {
    const y = yOf(Math.min(...limits.map(({ bytes }) => bytes)), plane);
    out.push(
      `<defs><clipPath id="over"><rect x="${left}" y="${top - 4}" width="${right - left}" height="${Math.max(0, y - top + 4).toFixed(1)}"/></clipPath></defs>`,
      `<path d="${areaPath(mainLine, y, plane)}" fill="${LIMIT_LINE.color}" fill-opacity="0.22" clip-path="url(#over)"/>`,
    );
  }
  out.push(drawPhases(timeline, { ...plane, xOf: (time) => xOf(time, plane) }));
  out.push(drawMarks(timeline, plane));
  [...others].reverse().forEach((item, reversed) => {
    const style = LINE_STYLES[(others.length - reversed) % LINE_STYLES.length]!;
    out.push(linePath(columns(item.series, plane), style, plane));
  });
  if (mainLine !== null) out.push(linePath(mainLine, LINE_STYLES[0], plane));
  const peak = main?.peak ?? null;
  out.push(drawLimits(limits, plane, peak !== null && peak.time_s < domain.timeTo_s * 0.45));
  if (peak !== null) out.push(drawPeak(peak, limits, plane));
  return out.join("\n");
}

function columns(series: Line, plane: Plane): Line {
  return decimate(series, 0, plane.domain.timeTo_s, Math.round(plane.right - plane.left));
}

function xOf(time: number, plane: Plane): number {
  return plane.left + (time / plane.domain.timeTo_s) * (plane.right - plane.left);
}

function yOf(bytes: number, plane: Plane): number {
  const { low, high } = plane.domain;
  return plane.bottom - ((bytes - low) / (high - low)) * (plane.bottom - plane.top);
}

/** The segments of a line between its gaps, as pixel pairs. */
function segments(line: Line, plane: Plane): [number, number][][] {
  const all: [number, number][][] = [];
  let current: [number, number][] = [];
  for (let i = 0; i < line.bytes.length; i++) {
    const value = line.bytes[i]!;
    if (Number.isNaN(value)) {
      if (current.length > 0) all.push(current);
      current = [];
    } else {
      current.push([xOf(line.time_s[i]!, plane), yOf(value, plane)]);
    }
  }
  if (current.length > 0) all.push(current);
  return all;
}

function pathOf(points: readonly (readonly [number, number])[]): string {
  return points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

function linePath(line: Line, style: { color: string; width: number; dash: string }, plane: Plane): string {
  const dash = style.dash === "" ? "" : ` stroke-dasharray="${style.dash}"`;
  // A lone sample between gaps has no length; the short stroke with round ends makes it a dot.
  const path = segments(line, plane)
    .map((points) => (points.length === 1 ? `${pathOf(points)}h2.5` : pathOf(points)))
    .join("");
  if (path === "") return "";
  return `<path d="${path}" fill="none" stroke="${style.color}" stroke-width="${style.width}"${dash} stroke-linejoin="round" stroke-linecap="round" clip-path="url(#plot)"/>`;
}

function areaPath(line: Line, bottom: number, plane: Plane): string {
  return segments(line, plane)
    .map((points) => {
      const [first, last] = [points[0]!, points[points.length - 1]!];
      return `${pathOf(points)}L${last[0].toFixed(1)} ${bottom.toFixed(1)}L${first[0].toFixed(1)} ${bottom.toFixed(1)}Z`;
    })
    .join("");
}

function drawEnvelope(timeline: Timeline, plane: Plane): string {
  const { envelope } = timeline;
  if (envelope === null) return "";
  const low: [number, number][] = [];
  const high: [number, number][] = [];
  for (let i = 0; i < envelope.time_s.length; i++) {
    const at = envelope.time_s[i];
    const [lowest, highest] = [envelope.low_bytes[i], envelope.high_bytes[i]];
    if (at === undefined || !Number.isFinite(at)) continue;
    if (lowest === undefined || highest === undefined || !Number.isFinite(lowest) || !Number.isFinite(highest))
      continue;
    low.push([xOf(at, plane), yOf(lowest, plane)]);
    high.push([xOf(at, plane), yOf(highest, plane)]);
  }
  const out: string[] = [];
  if (low.length > 0) {
    const outline = `${pathOf([...high, ...low.reverse()])}Z`;
    out.push(
      // The stroke keeps a band visible that is thinner than a pixel, as for baselines of a constant workload.
      `<path d="${outline}" fill="${BASELINE.band}" fill-opacity="0.85" stroke="${BASELINE.band}" stroke-opacity="0.85" stroke-width="2" stroke-linejoin="round" clip-path="url(#plot)"/>`,
    );
  }
  const middle = { time_s: Float64Array.from(envelope.time_s), bytes: Float64Array.from(envelope.mid_bytes) };
  out.push(linePath(middle, { color: BASELINE.line, width: 2, dash: BASELINE.dash }, plane));
  return out.join("\n");
}

interface LimitLine {
  readonly bytes: number;
  readonly name: string;
  readonly look: { readonly color: string; readonly dash: string };
}

/** The limits inside the picture, the highest first; the area above the lowest is tinted. */
function shownLimits({ threshold_bytes: limit, budget_bytes: budget }: Timeline, domain: Domain): LimitLine[] {
  return [
    ...(domain.showsThreshold && limit !== null ? [{ bytes: limit, name: "limit", look: LIMIT_LINE }] : []),
    ...(domain.showsBudget && budget !== null ? [{ bytes: budget, name: "budget", look: BUDGET_LINE }] : []),
  ].sort((a, b) => b.bytes - a.bytes);
}

function drawLimits(limits: readonly LimitLine[], plane: Plane, atRight: boolean): string {
  const out: string[] = [];
  let above = Number.NEGATIVE_INFINITY;
  for (const { bytes, name, look } of limits) {
    const y = yOf(bytes, plane);
    out.push(
      `<path d="M${plane.left} ${y.toFixed(1)}H${plane.right}" stroke="${look.color}" stroke-width="2.5" stroke-dasharray="${look.dash}" fill="none"/>`,
    );
    // Above its line, unless the label of the next higher line is there.
    const label = y - above < 30 || y - plane.top < 14 ? y + 23 : y - 9;
    above = y;
    out.push(
      plateText(
        `${name} ${formatBytes(bytes)}`,
        atRight ? plane.right - 8 : plane.left + 10,
        label,
        atRight ? "end" : "start",
        look.color,
      ),
    );
  }
  return out.join("\n");
}

function drawPeak(peak: { time_s: number; bytes: number }, limits: readonly LimitLine[], plane: Plane): string {
  const x = xOf(peak.time_s, plane);
  const y = yOf(peak.bytes, plane);
  const breached = limits.some(({ bytes }) => peak.bytes > bytes);
  const label = formatBytes(peak.bytes);
  const half = textWidth(label, LABEL_SIZE) / 2;
  const center = Math.min(plane.right - half - 6, Math.max(plane.left + half + 6, x));
  // Above the point where that is free, else below it, else beside it.
  const positions = [
    { x: center, y: y - 15 },
    { x: center, y: y + 29 },
    { x: x - half - 16 < plane.left ? x + half + 16 : x - half - 16, y: y + 6 },
  ];
  const lines = limits.map(({ bytes }) => yOf(bytes, plane));
  const isFree = (at: { y: number }) =>
    at.y - 16 >= plane.top - 4 && lines.every((line) => line < at.y - 17 || line > at.y + 6);
  const position = positions.find(isFree) ?? positions[1]!;
  return [
    `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="6.5" fill="${breached ? LIMIT_LINE.color : LINE_STYLES[0].color}" stroke="${INK.paper}" stroke-width="2.5"/>`,
    plateText(label, position.x, position.y, "middle", breached ? "#a84300" : "#005a8f"),
  ].join("\n");
}

function drawMarks(timeline: Timeline, plane: Plane): string {
  const marks = timeline.marks
    .filter((mark) => Number.isFinite(mark.time_s) && mark.time_s >= 0 && mark.time_s <= plane.domain.timeTo_s)
    .slice(0, MAX_MARKS);
  let free = plane.left;
  const bottom = plane.bottom - (timeline.phases === undefined ? 0 : PHASE_STRIP);
  return [...marks]
    .sort((a, b) => a.time_s - b.time_s)
    .map((mark) => {
      const x = xOf(mark.time_s, plane);
      const line = `<path d="M${x.toFixed(1)} ${plane.top}V${plane.bottom}" stroke="${INK.axis}" stroke-width="1.5" stroke-dasharray="2 5"/>`;
      const text = fitText(mark.text, 15, 200);
      const width = textWidth(text, 15);
      const start = Math.min(x + 6, plane.right - width - 4);
      if (start < free) return line;
      free = start + width + 10;
      return line + plateText(text, start, bottom - 9, "start", INK.soft, 15);
    })
    .join("\n");
}

/** Text on a plate in the colour of the paper, so that no line crosses the letters. */
function plateText(
  text: string,
  x: number,
  y: number,
  anchor: "start" | "middle" | "end",
  color: string,
  size = LABEL_SIZE,
) {
  const width = textWidth(text, size);
  const start = x - (anchor === "end" ? width : anchor === "middle" ? width / 2 : 0);
  return [
    `<rect x="${(start - 4).toFixed(1)}" y="${(y - size).toFixed(1)}" width="${(width + 8).toFixed(1)}" height="${size + 6}" rx="3" fill="${INK.paper}" fill-opacity="0.82"/>`,
    `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" font-size="${size}" text-anchor="${anchor}" fill="${color}">${escapeHtml(text)}</text>`,
  ].join("");
}
