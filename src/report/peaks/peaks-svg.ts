import { formatBytes, formatBytesDelta } from "../../core/units.ts";
import type { DeviceDifference, SnapshotDifference } from "../../snapshot/live/peak-difference.ts";
import { LINE_STYLES, THEMES, type Theme, type ThemeName } from "../drawing/palette.ts";
import { END, MARGIN, svgDocument, svgSwatch, svgText, WIDTH } from "../drawing/svg.ts";
import { fitText, textWidth } from "../drawing/text-width.ts";
import { BAR, box, stackedBar } from "./composition-svg.ts";
import { type DifferenceRow, differenceOf, peakRows, peakTitle } from "./peak-rows.ts";

const RIGHT = WIDTH - MARGIN;
const TITLE_SIZE = 24;
const SIZE = 18;
const ROW = 36;
/** Left edges of a row's parts: its colour, its name, and the bar; its size ends before the bar. */
const NAME = MARGIN + 28;
const CHART = 660;

interface Drawn {
  readonly svg: string;
  readonly bottom: number;
}

/** A row with its colour, the same in the stacked bars and in the waterfall. */
interface ColoredRow extends DifferenceRow {
  readonly color: string;
}

/**
 * Two peaks as an SVG document in the font "DejaVu Sans": what each consists of as a stacked bar, and the difference
 * as a waterfall. Outside text is escaped and cut.
 */
export function renderPeaksSvg(document: SnapshotDifference, themeName: ThemeName = "light"): string {
  const theme = THEMES[themeName];
  const shown = document.devices.slice(0, 4);
  const hidden = document.devices.length - shown.length;
  let top = 20;
  const sections = shown.map((device) => {
    const { svg, bottom } = drawDevice(device, top, theme);
    top = bottom + 28;
    return svg;
  });
  const rest = shown.length === 0 ? "No device is in these snapshots." : hidden > 0 ? `and ${hidden} more devices` : "";
  if (rest !== "") {
    sections.push(svgText(rest, MARGIN, top + SIZE, SIZE, theme.soft));
    top += ROW;
  }
  return svgDocument(WIDTH, Math.round(top), theme.paper, sections);
}

function drawDevice(device: DeviceDifference, top: number, theme: Theme): Drawn {
  const { before_bytes: before, after_bytes: after } = device;
  const rows = peakRows(device, LINE_STYLES.length).map((row, i): ColoredRow => {
    return { ...row, color: colorOf(row, i, theme) };
  });
  const bars = drawStacks(rows, { before, after }, top + 44, theme);
  const steps = drawWaterfall(rows, { before, after }, bars.bottom + 24, theme);
  const shown = fitText(peakTitle(device), TITLE_SIZE, RIGHT - MARGIN);
  const head = svgText(shown, MARGIN, top + TITLE_SIZE, TITLE_SIZE, theme.text);
  return { svg: [head, bars.svg, steps.svg].join("\n"), bottom: steps.bottom };
}

function colorOf({ kind }: DifferenceRow, index: number, theme: Theme): string {
  const { color } = LINE_STYLES[index % LINE_STYLES.length]!;
  return { line: color, "other-lines": theme.band, "no-line": theme.median }[kind];
}

interface Peaks {
  readonly before: number;
  readonly after: number;
}

/** What each peak consists of, on one scale. */
function drawStacks(rows: readonly ColoredRow[], peaks: Peaks, top: number, theme: Theme): Drawn {
  const scale = (RIGHT - NAME - 90) / Math.max(peaks.before, peaks.after, 1);
  const left = NAME + 90;
  const svg = (["before", "after"] as const).flatMap((side, i) => {
    const y = top + i * ROW;
    const parts = rows.map((row) => ({ bytes: row[side], color: row.color }));
    return [svgText(side, MARGIN, y + SIZE, SIZE, theme.soft), stackedBar(parts, { x: left, y, scale }, theme)];
  });
  return { svg: svg.join("\n"), bottom: top + 2 * ROW };
}

/** From one peak to the other: first what grew, then what shrank, each bar beginning where the last one ended. */
function drawWaterfall(all: readonly ColoredRow[], { before, after }: Peaks, top: number, theme: Theme): Drawn {
  const rows = [...all].sort((a, b) => differenceOf(b) - differenceOf(a));
  const levels = [before];
  for (const row of rows) levels.push(levels.at(-1)! + differenceOf(row));
  const high = Math.max(...levels, after);
  const lowest = Math.min(...levels, after);
  // The waterfall's axis begins this share of its range below the lowest level, so that the first bar is seen.
  const low = Math.max(0, lowest - 0.15 * Math.max(high - lowest, 1));
  const xOf = (bytes: number): number => CHART + ((bytes - low) / Math.max(high - low, 1)) * (RIGHT - CHART);
  const out: string[] = [];
  const line = (index: number, name: string, size: string, color: string, from: number, to: number, fill: string) => {
    const y = top + index * ROW;
    const room = CHART - 16 - textWidth(size, SIZE);
    out.push(
      svgSwatch(MARGIN, y + 3, color),
      svgText(fitText(name, SIZE, room - NAME - 16), NAME, y + SIZE, SIZE, theme.text),
      svgText(size, CHART - 16, y + SIZE, SIZE, theme.text, END),
      box(
        { x: Math.min(xOf(from), xOf(to)), y, width: Math.max(1, Math.abs(xOf(to) - xOf(from))), color: fill },
        theme,
      ),
    );
    if (index > 0) {
      const x = xOf(from).toFixed(1);
      out.push(`<path d="M${x} ${y - ROW + BAR}V${y}" stroke="${theme.soft}" stroke-width="1"/>`);
    }
  };
  line(0, "before", formatBytes(before), theme.paper, low, before, theme.band);
  rows.forEach((row, i) => {
    const name = row.function === "" ? row.name : `${row.name} ${row.function}`;
    const [from, to] = [levels[i]!, levels[i + 1]!];
    line(i + 1, name, formatBytesDelta(differenceOf(row)), row.color, from, to, to > from ? theme.excess : theme.line);
  });
  const last = rows.length + 1;
  line(last, "after", formatBytes(after), theme.paper, after, low, theme.band);
  const bottom = top + last * ROW + BAR;
  const note = `These bars begin at ${formatBytes(low)}.`;
  if (low > 0) out.push(svgText(note, RIGHT, bottom + 26, SIZE, theme.soft, END));
  return { svg: out.join("\n"), bottom: bottom + (low > 0 ? 30 : 0) };
}
