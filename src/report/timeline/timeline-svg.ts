import { oneLine } from "../../core/text.ts";
import { isCounted } from "../../telemetry/recording/metrics.ts";
import { THEMES, type Theme, type ThemeName, VERDICT_LOOK } from "../drawing/palette.ts";
import { byteTicks, labelsWithUnit, ticks, timeTicks } from "../drawing/scale.ts";
import { END, MARGIN, MIDDLE, svgDocument, svgText, WIDTH } from "../drawing/svg.ts";
import { fitText, textWidth } from "../drawing/text-width.ts";
import { percent } from "../headline/line-answer.ts";
import type { Timeline } from "../model/gate-report.ts";
import { shownRunText } from "../wording/wording.ts";
import { drawComposition } from "./composition-svg.ts";
import { type AxisView, type PanelView, viewOf } from "./panel-view.ts";
import { drawPlot, drawPositions, drawSizes, LABEL_SIZE, type Plane, xOf } from "./plot.ts";

const RIGHT = WIDTH - 32;
const TITLE_SIZE = 24;
const TITLE_LINE = 32;
const HEADING = 40;
const FOOT = 60;

/** Panels of one picture, and the height of each plot when there are that many. */
const PLOT_HEIGHTS = [250, 170, 140] as const;

/** A timeline as a self-contained SVG document in the font "DejaVu Sans"; outside text is escaped and cut. */
export function renderTimelineSvg(timeline: Timeline, themeName: ThemeName = "light"): string {
  const theme = THEMES[themeName];
  const { deciding } = viewOf(timeline);
  const panels = deciding.panels.slice(0, PLOT_HEIGHTS.length);
  const header = drawHeader(timeline, theme);
  const body =
    panels.length === 0
      ? drawEmpty(header.height, theme)
      : drawPanels(timeline, { ...deciding, panels }, header.height, theme, deciding.panels.length - panels.length);
  const peak =
    timeline.peak === undefined
      ? { svg: "", bottom: body.bottom }
      : drawComposition(timeline.peak, { left: MARGIN, right: RIGHT, top: body.bottom + 8, theme });
  const foot = drawFoot(timeline, peak.bottom, theme);
  return svgDocument(WIDTH, Math.round(foot.bottom), theme.paper, [header.svg, body.svg, peak.svg, foot.svg]);
}

/** Verdict and cause as a sentence of one or two lines. */
function drawHeader(timeline: Timeline, theme: Theme): { readonly svg: string; readonly height: number } {
  const look = VERDICT_LOOK[timeline.verdict];
  const verdict = `${look.sign} ${look.label}`;
  const pill = textWidth(verdict, 21) + 30;
  const start = MARGIN + pill + 16;
  const sentence = [timeline.scenario, lowered(timeline.subtitle)].map((text) => oneLine(text).trim());
  const lines = wrap(sentence.filter((text) => text !== "").join(": "), [RIGHT - start, RIGHT - MARGIN]);
  const svg = [
    `<rect x="${MARGIN}" y="20" width="${pill.toFixed(1)}" height="40" rx="6" fill="${look.color}"/>`,
    svgText(verdict, MARGIN + 15, 47.5, 21, "#ffffff"),
    ...lines.map((line, i) =>
      svgText(line, i === 0 ? start : MARGIN, 48 + i * (TITLE_LINE + 6), TITLE_SIZE, theme.text),
    ),
  ];
  return { svg: svg.join("\n"), height: 72 + Math.max(0, lines.length - 1) * (TITLE_LINE + 2) };
}

/** "Leak of …" after a name and a colon; "GPU …" stays. */
function lowered(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text.slice(0, 1).toLowerCase() + text.slice(1) : text;
}

function drawEmpty(top: number, theme: Theme): { readonly svg: string; readonly bottom: number } {
  const svg = svgText("No memory samples were recorded.", WIDTH / 2, top + 110, 22, theme.soft, MIDDLE);
  return { svg, bottom: top + 210 };
}

function drawPanels(timeline: Timeline, axis: AxisView, top: number, theme: Theme, hidden: number) {
  const plot = PLOT_HEIGHTS[axis.panels.length - 1]!;
  // Above the highest value there is room for its label.
  const highs = axis.panels.map(({ high }) => high * (1 + 30 / plot));
  const sizes = highs.map((high, i) => {
    const count = axis.panels.length > 1 ? 4 : 6;
    const isNumber = isCounted(axis.panels[i]!.series.metric);
    return isNumber ? ticks(0, high, count, { unit: "number", least: 1 }) : byteTicks(0, high, count);
  });
  const room = Math.max(...sizes.flatMap(({ labels }) => labels.map((label) => textWidth(label, LABEL_SIZE))), 30);
  const left = Math.ceil(MARGIN + room + 10);
  const more = hidden === 0 ? [] : [`and ${hidden} more on the page`];
  const note = [shownRunText(timeline) ?? [], more].flat().join(", ");
  const strip = timeline.phases === undefined ? 0 : PHASES.strip + 4;
  const out: string[] = [];
  let y = top;
  let plane: Plane | undefined;
  axis.panels.forEach((view, i) => {
    plane = {
      left,
      right: RIGHT,
      top: y + HEADING,
      bottom: y + HEADING + plot,
      axis,
      high: highs[i]!,
      theme,
      id: `plot${i}`,
    };
    out.push(drawHeading(view, sizes[i]!.unit, y, theme, i === 0 ? note : ""));
    out.push(drawSizes(sizes[i]!, plane));
    out.push(
      drawPlot(view, plane, {
        name: view.band === null ? "this run" : "this change",
        shadesGrowth: timeline.verdict === "fail" && view.growth !== undefined,
        marks: i === 0 ? timeline.marks : [],
      }),
    );
    y += HEADING + plot + 14;
  });
  if (plane !== undefined) {
    const { bottom } = plane;
    const below = { ...plane, bottom: bottom + strip };
    out.push(drawPhases(timeline, { ...below, xOf: (time) => xOf(axis.positionOf(time), below), theme }));
    const count = Math.max(3, Math.floor((RIGHT - left) / 120));
    const isStepped = axis.unit !== "second";
    const positions = isStepped ? ticks(axis.from, axis.to, count, { least: 1 }) : timeTicks(axis.to, count);
    const labels = isStepped
      ? positions.labels.map((label, i) => (i === 0 ? `${axis.unit} ${label}` : label))
      : labelsWithUnit(positions);
    out.push(drawPositions({ ...positions, labels }, below));
    y = below.bottom + 40;
  }
  return { svg: out.filter((part) => part !== "").join("\n"), bottom: y };
}

function drawHeading(view: PanelView, unit: string, top: number, theme: Theme, note: string): string {
  const room = Math.max(300, textWidth(note, LABEL_SIZE) + 30);
  const name = fitText(`${view.label}, ${unit}`, LABEL_SIZE, RIGHT - MARGIN - room);
  const bold = ' font-weight="bold"';
  return (
    svgText(name, MARGIN, top + 19, LABEL_SIZE, theme.text, bold) +
    svgText(note, RIGHT, top + 19, LABEL_SIZE, theme.soft, END)
  );
}

/** The line of code that holds the memory. */
function drawFoot({ cause }: Timeline, top: number, theme: Theme): { readonly svg: string; readonly bottom: number } {
  if (cause == null) return { svg: "", bottom: top + 6 };
  const share = cause.share === null ? "" : `${percent(cause.share)} of the growth`;
  const end = RIGHT - 16;
  const location = fitText(cause.location, LABEL_SIZE, 480);
  const codeAt = MARGIN + 16 + textWidth(location, LABEL_SIZE) + 36;
  const code = fitText(cause.code ?? "", LABEL_SIZE, Math.max(0, end - textWidth(share, LABEL_SIZE) - 24 - codeAt));
  const text = (x: number, color: string, content: string, more?: string) =>
    svgText(content, x, top + 35, LABEL_SIZE, color, more);
  const svg = [
    `<rect x="${MARGIN}" y="${top}" width="${RIGHT - MARGIN}" height="${FOOT - 4}" rx="6" fill="${theme.plate}"/>`,
    text(MARGIN + 16, theme.soft, location),
    text(codeAt, theme.text, code),
    text(end, theme.soft, share, END),
  ];
  return { svg: svg.filter((part) => part !== "").join("\n"), bottom: top + FOOT + 16 };
}

/** One or two lines; the first has its own width. */
function wrap(text: string, [first, second]: readonly [number, number]): string[] {
  const words = text.split(/\s+/).filter((word) => word !== "");
  let line = "";
  while (words.length > 0) {
    const next = line === "" ? words[0]! : `${line} ${words[0]!}`;
    if (line !== "" && textWidth(next, TITLE_SIZE) > first) break;
    line = next;
    words.shift();
  }
  if (line === "") return [];
  const lines = [fitText(line, TITLE_SIZE, first)];
  if (words.length > 0) lines.push(fitText(words.join(" "), TITLE_SIZE, second));
  return lines;
}
const PHASES = {
  /** Height of the strip of phases above the time axis, pixels. */
  strip: 24,
  nameSize: 14,
  /** A name needs at least this much room. */
  minName: 24,
  /** Narrower phases cannot be distinguished. */
  minWidth: 2,
  /** Opacities of the phases, assigned to their names in turn. */
  tones: [0.1, 0.22, 0.15, 0.3],
} as const;

interface StripLayout {
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
  readonly xOf: (time_s: number) => number;
  readonly theme: Theme;
}

/** The phases that the program names, as a strip along the time axis; a name is written where it fits. */
export function drawPhases({ phases = [] }: Timeline, { left, right, bottom, xOf, theme }: StripLayout): string {
  const names = [...new Set(phases.map(({ name }) => name))];
  return phases
    .slice(0, 256)
    .map(({ name, from_s, to_s }) => {
      const from = Math.max(left, xOf(from_s));
      const width = Math.min(right, xOf(to_s)) - from - 1;
      if (!(width >= PHASES.minWidth)) return "";
      const tone = PHASES.tones[names.indexOf(name) % PHASES.tones.length];
      const box = `<rect x="${from.toFixed(1)}" y="${bottom - PHASES.strip}" width="${width.toFixed(1)}" height="${PHASES.strip - 1}" fill="${theme.soft}" fill-opacity="${tone}"/>`;
      const room = width - 8;
      const text = room < PHASES.minName ? "" : fitText(name, PHASES.nameSize, room);
      if (text === "" || textWidth(text, PHASES.nameSize) > room) return box;
      return box + svgText(text, from + width / 2, bottom - 7, PHASES.nameSize, theme.text, MIDDLE);
    })
    .join("\n");
}
