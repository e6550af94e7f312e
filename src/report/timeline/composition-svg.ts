import { escapeHtml } from "../../core/escape.ts";
import { formatBytes, formatShort } from "../../core/units.ts";
import { LINE_COLORS, type Theme } from "../drawing/palette.ts";
import { svgSwatch, svgText, WIDTH } from "../drawing/svg.ts";
import { fitText, textWidth } from "../drawing/text-width.ts";
import type { PeakRow, StackedPeaks } from "../model/peak-report.ts";

const BAR = 22;

/** Bars of one side's parts, one after the other; negative parts have none. */
function stackedBar(
  parts: readonly { readonly bytes: number; readonly color: string }[],
  { x, y, scale }: { readonly x: number; readonly y: number; readonly scale: number },
  { paper }: Theme,
): string {
  let left = x;
  return parts
    .map(({ bytes, color }) => {
      const width = Math.max(0, bytes * scale);
      const shape = `<rect x="${left.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" fill="${color}" stroke="${paper}" stroke-width="1"/>`;
      left += width;
      return shape;
    })
    .join("\n");
}

const SIZE = 18;
const ROW = 34;

interface Area {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly theme: Theme;
}

const colorAt = (index: number, name: string, theme: Theme): string =>
  name === "other" ? theme.band : LINE_COLORS[index % LINE_COLORS.length]!;

/** What the peak consists of as a stacked bar, that of the base above it, and a legend with the differences. */
export function drawComposition({ rows: all, bytes, compared_bytes: compared }: StackedPeaks, area: Area) {
  // A smaller share of the peaks is not visible in a bar.
  const smallest = 0.001 * Math.max(bytes, compared ?? 0, 1);
  const rows = all.filter((row) => Math.max(row.bytes, row.compared_bytes ?? 0) >= smallest);
  const { left, right, top, theme } = area;
  const text = (x: number, y: number, content: string, color: string, more = ""): string =>
    svgText(content, x, y, SIZE, color, more);
  const start = left + 130;
  const room = 100;
  const scale = (right - start - room) / Math.max(bytes, compared ?? 0, 1);
  const sides = [
    ...(compared === null ? [] : [{ name: "baseline", peak: compared, of: (row: PeakRow) => row.compared_bytes ?? 0 }]),
    { name: "this change", peak: bytes, of: (row: PeakRow) => row.bytes },
  ];
  const out = [text(left, top + SIZE, "What the peak consists of", theme.text, ' font-weight="bold"')];
  let y = top + ROW;
  for (const { name, peak, of } of sides) {
    const parts = rows.map((row, index) => ({ bytes: of(row), color: colorAt(index, row.name, theme) }));
    out.push(text(left, y + SIZE - 1, name, theme.soft), stackedBar(parts, { x: start, y, scale }, theme));
    out.push(text(start + peak * scale + 10, y + SIZE - 1, formatShort(peak), theme.text));
    y += ROW;
  }
  let x = left;
  rows.forEach((row, index) => {
    const difference = row.bytes - (row.compared_bytes ?? 0);
    const sign = difference < 0 ? "-" : "+";
    const change = Math.abs(difference) < smallest ? "unchanged" : `${sign}${formatShort(Math.abs(difference))}`;
    const size = compared === null ? formatShort(row.bytes) : change;
    const label = fitText(`${row.name} ${size}`, SIZE, 420);
    const width = textWidth(label, SIZE) + 24;
    if (x > left && x + width > right) {
      x = left;
      y += ROW - 6;
    }
    out.push(svgSwatch(x, y + 3, colorAt(index, row.name, theme)), text(x + 24, y + SIZE - 1, label, theme.text));
    x += width + 26;
  });
  return { svg: out.join("\n"), bottom: y + ROW };
}

const FLAME_COLORS = ["#f4a259", "#e8875b", "#f2b56b", "#d9734e"] as const;

/** A peak by stack: each frame is as wide as the memory below it. Outermost frames first. */
export function renderFlame(frames: readonly (readonly [number, string, number])[]): string {
  const total = frames.reduce((sum, [depth, , bytes]) => (depth === 0 ? sum + bytes : sum), 0);
  const deepest = frames.reduce((most, [depth]) => Math.max(most, depth), 0);
  const height = (deepest + 1) * BAR;
  // The left edge of the next frame at each depth.
  const next: number[] = [0];
  const shapes = frames.map(([depth, name, bytes], index) => {
    const width = (bytes / Math.max(total, 1)) * WIDTH;
    const x = next[depth] ?? 0;
    next[depth] = x + width;
    next[depth + 1] = x;
    const color = FLAME_COLORS[(depth + index) % FLAME_COLORS.length];
    const label = width < 34 ? "" : fitText(name, 13, width - 8);
    const title = `${name}: ${formatBytes(bytes)}, ${((100 * bytes) / Math.max(total, 1)).toFixed(1)} %`;
    const words =
      label === "" ? "" : `<text x="${(x + 4).toFixed(1)}" y="${depth * BAR + 15}">${escapeHtml(label)}</text>`;
    return `<g><title>${escapeHtml(title)}</title><rect x="${x.toFixed(1)}" y="${depth * BAR}" width="${Math.max(0.5, width).toFixed(1)}" height="${BAR - 1}" fill="${color}"/>${words}</g>`;
  });
  return `<svg class="flame" viewBox="0 0 ${WIDTH} ${height}" width="100%" font-family="DejaVu Sans, sans-serif" font-size="13" fill="#1f2328">${shapes.join("")}</svg>`;
}
