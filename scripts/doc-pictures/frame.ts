import { escapeHtml } from "../../src/core/escape.ts";
import { THEMES } from "../../src/report/drawing/palette.ts";
import { byteTicks, labelsWithUnit } from "../../src/report/drawing/scale.ts";
import { fitText, textWidth } from "../../src/report/drawing/text-width.ts";

/** Pictures are as wide as a page shows them at twice its pixels; two panels are side by side. */
const WIDTH = 1200;
const HEIGHT = 420;
const MARGIN = 24;
const GAP = 36;

/** A box of the picture and the data it shows. */
export interface Frame {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly x: readonly [number, number];
  readonly y: readonly [number, number];
}

export interface Chip {
  readonly text: string;
  readonly color: string;
}

export const COLORS = {
  good: "#11703f",
  bad: "#b42318",
  open: "#8a5700",
  plain: "#57606a",
  data: "#0072b2",
  mark: "#d55e00",
} as const;

const text = (
  words: string,
  x: number,
  y: number,
  size: number,
  color: string,
  anchor: "start" | "middle" | "end" = "start",
): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" font-size="${size}" fill="${color}" text-anchor="${anchor}">${escapeHtml(words)}</text>`;

/** Text on paper, for labels that lie over lines. */
export function label(
  words: string,
  x: number,
  y: number,
  color: string,
  anchor: "start" | "middle" | "end" = "start",
): string {
  const size = 16;
  const width = textWidth(words, size);
  const start = x - (anchor === "end" ? width : anchor === "middle" ? width / 2 : 0);
  return `<rect x="${(start - 4).toFixed(1)}" y="${(y - size).toFixed(1)}" width="${(width + 8).toFixed(1)}" height="${size + 6}" rx="3" fill="${THEMES.light.paper}" fill-opacity="0.85"/>${text(words, x, y, size, color, anchor)}`;
}

export const xOf = (value: number, { left, right, x }: Frame): number =>
  left + ((value - x[0]) / (x[1] - x[0])) * (right - left);
export const yOf = (value: number, { top, bottom, y }: Frame): number =>
  bottom - ((value - y[0]) / (y[1] - y[0])) * (bottom - top);

/** The left (0) or right (1) half of the picture for data of these extents. */
export function frameOf(side: 0 | 1, x: readonly [number, number], y: readonly [number, number], tickRoom = 84): Frame {
  const half = (WIDTH - 2 * MARGIN - GAP) / 2;
  const start = MARGIN + side * (half + GAP);
  return { left: start + tickRoom, right: start + half - 4, top: 96, bottom: HEIGHT - 62, x, y };
}

/** Title of a panel: the engine's class, the true class, and further results. */
export function heading(frame: Frame, tickRoom: number, chip: Chip, caption: string, detail: string): string {
  const start = frame.left - tickRoom;
  const width = textWidth(chip.text, 20) + 24;
  const room = frame.right - start - width - 12;
  return [
    `<rect x="${start}" y="14" width="${width.toFixed(1)}" height="34" rx="7" fill="${chip.color}"/>`,
    text(chip.text, start + 12, 38, 20, THEMES.light.paper),
    text(fitText(caption, 20, room), start + width + 12, 38, 20, THEMES.light.text),
    text(fitText(detail, 16, frame.right - start), start, 74, 16, THEMES.light.soft),
  ].join("");
}

/** Grid with byte labels on the left and numbers below. */
export function axes(
  frame: Frame,
  xTicks: readonly (readonly [number, string])[],
  yTicks?: readonly (readonly [number, string])[],
): string {
  const bytes = byteTicks(frame.y[0], frame.y[1], 5);
  const labels = labelsWithUnit(bytes);
  const lines = yTicks ?? bytes.values.map((value, i) => [value, labels[i]!] as const);
  return [
    ...lines.map(([value, words]) => {
      const y = yOf(value, frame);
      return `<path d="M${frame.left} ${y.toFixed(1)}H${frame.right}" stroke="${THEMES.light.grid}" stroke-width="1.2"/>${text(words, frame.left - 10, y + 5, 15, THEMES.light.soft, "end")}`;
    }),
    ...xTicks.map(([value, words]) => {
      const x = xOf(value, frame);
      return `<path d="M${x.toFixed(1)} ${frame.bottom}v6" stroke="${THEMES.light.soft}" stroke-width="1.5"/>${text(words, x, frame.bottom + 24, 15, THEMES.light.soft, x + textWidth(words, 15) / 2 > frame.right + 4 ? "end" : "middle")}`;
    }),
    `<path d="M${frame.left} ${frame.bottom}H${frame.right}" stroke="${THEMES.light.soft}" stroke-width="1.5"/>`,
  ].join("");
}

export function polyline(
  points: readonly (readonly [number, number])[],
  color: string,
  width: number,
  dash = "",
  opacity = 1,
): string {
  const path = points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  return `<path d="${path}" fill="none" stroke="${color}" stroke-width="${width}" stroke-opacity="${opacity}"${dash === "" ? "" : ` stroke-dasharray="${dash}"`} stroke-linejoin="round" stroke-linecap="round"/>`;
}

export const dot = (x: number, y: number, color: string, radius = 6, filled = true): string =>
  `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius}" fill="${filled ? color : THEMES.light.paper}" stroke="${filled ? THEMES.light.paper : color}" stroke-width="${filled ? 1.5 : 2.5}"/>`;

/** A legend of one line below both panels. */
export function legend(
  items: readonly { readonly mark: (x: number, y: number) => string; readonly words: string }[],
): string {
  let x = MARGIN;
  const y = HEIGHT - 14;
  return items
    .map(({ mark, words }) => {
      const out = mark(x, y - 5) + text(words, x + 38, y, 16, THEMES.light.soft);
      x += 38 + textWidth(words, 16) + 30;
      return out;
    })
    .join("");
}

export const lineMark =
  (color: string, width: number, dash = "") =>
  (x: number, y: number): string =>
    polyline(
      [
        [x, y],
        [x + 30, y],
      ],
      color,
      width,
      dash,
    );

export const picture = (...parts: readonly string[]): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="DejaVu Sans, sans-serif"><rect width="${WIDTH}" height="${HEIGHT}" fill="${THEMES.light.paper}"/>${parts.join("")}</svg>`;
