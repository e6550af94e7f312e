import { escapeHtml } from "../../core/escape.ts";
import { formatBytes } from "../../core/units.ts";
import type { Timeline } from "../documents/model.ts";
import { domainOf } from "./domain.ts";
import { layoutLegend } from "./legend.ts";
import { INK, VERDICT_LOOK } from "./palette.ts";
import { drawPlot, type Plane } from "./plot.ts";
import { byteTicks, timeTicks } from "./scale.ts";
import { fitText, textWidth } from "./text-width.ts";
import { rankSeries, seriesLabel, withUsableLimits } from "./timeline-model.ts";

/** Letters of 17 px stay readable where a comment shows the picture 760 px wide (then 11 px). */
const SIZE = { width: 1200, height: 500 } as const;

const MARGIN = 28;
const TICK_SIZE = 17;
const SUBTITLE_SIZE = 19;
const SUBTITLE_LINE = 26;

/** A timeline as a self-contained SVG document in the font "DejaVu Sans"; outside text is escaped and cut. */
export function renderTimelineSvg(given: Timeline): string {
  const timeline = withUsableLimits(given);
  const ranked = rankSeries(timeline);
  const domain = domainOf(timeline, ranked);
  const inner = SIZE.width - 2 * MARGIN;
  const subtitle = wrap(timeline.subtitle, SUBTITLE_SIZE, inner);
  const legend = layoutLegend(timeline, ranked, domain, inner);

  const top = 84 + subtitle.length * SUBTITLE_LINE;
  const bottom = SIZE.height - 46 - legend.height;
  const bytes = byteTicks(domain.low, domain.high, Math.max(3, Math.floor((bottom - top) / 44)));
  const tickRoom = Math.max(...bytes.labels.map((label) => textWidth(label, TICK_SIZE)), 60);
  const left = MARGIN + tickRoom + 12;
  const right = SIZE.width - MARGIN - 8;
  const time = timeTicks(domain.timeTo_s, Math.max(3, Math.floor((right - left) / 110)));
  const plane: Plane = { left, right, top, bottom, domain };

  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${SIZE.width}" height="${SIZE.height}" viewBox="0 0 ${SIZE.width} ${SIZE.height}" font-family="DejaVu Sans, sans-serif">`,
    `<rect width="${SIZE.width}" height="${SIZE.height}" fill="${INK.paper}"/>`,
    header(timeline, ranked, subtitle),
    grid(plane, bytes, time),
    drawPlot(timeline, ranked, plane),
    `<g transform="translate(${MARGIN} ${SIZE.height - 14 - legend.height})">${legend.svg}</g>`,
    "</svg>",
  ].join("\n");
}

function header(timeline: Timeline, ranked: ReturnType<typeof rankSeries>, subtitle: readonly string[]): string {
  const look = VERDICT_LOOK[timeline.verdict];
  const verdict = `${look.sign} ${look.label}`;
  const pill = textWidth(verdict, 23) + 30;
  const peak = ranked.main?.peak;
  const summary =
    ranked.main && peak
      ? fitText(`${seriesLabel(ranked.main.series, timeline)} peak ${formatBytes(peak.bytes)}`, 20, 420)
      : "";
  const titleRoom = SIZE.width - 2 * MARGIN - pill - 16 - (summary === "" ? 0 : textWidth(summary, 20) + 24);
  const title = fitText(timeline.scenario, 26, titleRoom);
  const lines = subtitle.map(
    (line, i) =>
      `<text x="${MARGIN}" y="${92 + i * SUBTITLE_LINE}" font-size="${SUBTITLE_SIZE}" fill="${INK.soft}">${escapeHtml(line)}</text>`,
  );
  return [
    `<rect x="${MARGIN}" y="20" width="${pill.toFixed(1)}" height="42" rx="8" fill="${look.color}"/>`,
    `<text x="${MARGIN + 15}" y="49" font-size="23" fill="#ffffff">${escapeHtml(verdict)}</text>`,
    `<text x="${(MARGIN + pill + 16).toFixed(1)}" y="50" font-size="26" fill="${INK.text}">${escapeHtml(title)}</text>`,
    `<text x="${SIZE.width - MARGIN - 8}" y="49" font-size="20" fill="${INK.soft}" text-anchor="end">${escapeHtml(summary)}</text>`,
    ...lines,
  ].join("\n");
}

function grid(plane: Plane, bytes: ReturnType<typeof byteTicks>, time: ReturnType<typeof timeTicks>): string {
  const out: string[] = [];
  const { domain } = plane;
  bytes.values.forEach((value, i) => {
    const y = plane.bottom - ((value - domain.low) / (domain.high - domain.low)) * (plane.bottom - plane.top);
    out.push(`<path d="M${plane.left} ${y.toFixed(1)}H${plane.right}" stroke="${INK.grid}" stroke-width="1.2"/>`);
    out.push(
      `<text x="${(plane.left - 12).toFixed(1)}" y="${(y + 6).toFixed(1)}" font-size="${TICK_SIZE}" fill="${INK.soft}" text-anchor="end">${bytes.labels[i]}</text>`,
    );
  });
  time.values.forEach((value, i) => {
    const x = plane.left + (value / domain.timeTo_s) * (plane.right - plane.left);
    const label = time.labels[i]!;
    // The edge of the picture would cut the last label.
    const anchor = x + textWidth(label, TICK_SIZE) / 2 > plane.right + 30 ? "end" : "middle";
    out.push(`<path d="M${x.toFixed(1)} ${plane.bottom}v6" stroke="${INK.axis}" stroke-width="1.5"/>`);
    out.push(
      `<text x="${x.toFixed(1)}" y="${plane.bottom + 26}" font-size="${TICK_SIZE}" fill="${INK.soft}" text-anchor="${anchor}">${label}</text>`,
    );
  });
  out.push(`<path d="M${plane.left} ${plane.bottom}H${plane.right}" stroke="${INK.axis}" stroke-width="1.5"/>`);
  return out.join("\n");
}

/** One or two lines of at most `width` pixels. */
function wrap(text: string, size: number, width: number): string[] {
  if (text.trim() === "") return [];
  const words = text.trim().split(/\s+/);
  let first = "";
  while (words.length > 0) {
    const next = first === "" ? words[0]! : `${first} ${words[0]!}`;
    if (textWidth(next, size) > width && first !== "") break;
    first = next;
    words.shift();
  }
  const lines = [fitText(first, size, width)];
  if (words.length > 0) lines.push(fitText(words.join(" "), size, width));
  return lines;
}
