import { escapeHtml } from "../../core/escape.ts";
import { formatSize } from "../../telemetry/recording/metrics.ts";
import { BUDGET_DASH, LIMIT_DASH, type Theme } from "../drawing/palette.ts";
import type { Ticks } from "../drawing/scale.ts";
import { END, MIDDLE, svgText } from "../drawing/svg.ts";
import { fitText, textWidth } from "../drawing/text-width.ts";
import { decimate, type Line } from "../model/decimate.ts";
import { type LabelRequest, type Point, placeLabels, type Stroke } from "./labels.ts";
import type { AxisView, BandView, LimitView, PanelView } from "./panel-view.ts";

/** The position of a panel in the picture, pixels, and what it shows. */
export interface Plane {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly axis: AxisView;
  /** Value at the top; the bottom is 0. */
  readonly high: number;
  readonly theme: Theme;
  /** Unique within the picture. */
  readonly id: string;
}

export interface PlotText {
  /** Of the measured series: "this change". */
  readonly name: string;
  /** Whether growth beyond the baseline is shaded where no limit of the peak is exceeded. */
  readonly shadesGrowth: boolean;
  readonly marks: readonly { readonly time_s: number; readonly text: string }[];
}

export const LABEL_SIZE = 18;
const LABEL_HEIGHT = 23;

type Pixels = readonly (readonly [number, number])[];

/** Everything inside the axes of one panel: lines, the shaded excess, and their labels. */
export function drawPlot(view: PanelView, plane: Plane, text: PlotText): string {
  const { left, right, top, bottom, theme, id } = plane;
  const clip = `clip-path="url(#${id})"`;
  const runs = segments(view, plane);
  const marks = markLines(text.marks, plane);
  const out = [
    `<defs><clipPath id="${id}"><rect x="${left}" y="${top - 4}" width="${right - left}" height="${bottom - top + 6}"/></clipPath></defs>`,
    drawBand(view.band, plane, clip),
    drawExcess(view, runs, plane, text.shadesGrowth),
    ...marks.map(
      ({ x }) =>
        `<path d="M${x.toFixed(1)} ${top}V${bottom}" stroke="${theme.soft}" stroke-width="1.5" stroke-dasharray="2 5"/>`,
    ),
    ...view.limits.filter(({ isInside }) => isInside).map((limit) => drawLimit(limit, plane)),
  ];
  // A lone sample between gaps has no length; the short stroke with round ends makes it a dot.
  const path = runs.map((points) => (points.length === 1 ? `${pathOf(points)}h2.5` : pathOf(points))).join("");
  if (path !== "") {
    out.push(
      `<path d="${path}" fill="none" stroke="${theme.line}" stroke-width="3" stroke-linejoin="round" stroke-linecap="round" ${clip}/>`,
    );
  }
  if (view.peak !== null) {
    const [x, y] = pixel(view.peak.x, view.peak.bytes, plane);
    out.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="5" fill="${theme.line}"/>`);
  }
  out.push(...drawLabels(labelsOf(view, runs, marks, plane, text), view, runs, plane));
  return out.filter((part) => part !== "").join("\n");
}

export function xOf(at: number, { left, right, axis }: Plane): number {
  return left + ((at - axis.from) / (axis.to - axis.from)) * (right - left);
}

function yOf(bytes: number, { top, bottom, high }: Plane): number {
  return bottom - (bytes / high) * (bottom - top);
}

function pixel(at: number, bytes: number, plane: Plane): [number, number] {
  return [xOf(at, plane), yOf(bytes, plane)];
}

/** The segments of the measured line between its gaps. */
function segments({ series, x }: PanelView, plane: Plane): Pixels[] {
  const { left, right, axis } = plane;
  const line: Line = decimate({ time_s: x, bytes: series.bytes }, axis.from, axis.to, Math.round(right - left));
  const all: [number, number][][] = [];
  let current: [number, number][] = [];
  for (let i = 0; i < line.bytes.length; i++) {
    const value = line.bytes[i]!;
    if (Number.isNaN(value)) {
      if (current.length > 0) all.push(current);
      current = [];
    } else {
      current.push(pixel(line.time_s[i]!, value, plane));
    }
  }
  if (current.length > 0) all.push(current);
  return all;
}

function pathOf(points: Pixels): string {
  return points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** The area between a line and a lower edge. */
function areaPath(points: Pixels, edge: Pixels): string {
  return `${pathOf(points)}${pathOf([...edge].reverse()).replace("M", "L")}Z`;
}

function drawBand(band: BandView | null, plane: Plane, clip: string): string {
  if (band === null) return "";
  const { theme } = plane;
  const edge = (values: readonly number[]): Pixels => band.x.map((at, i) => pixel(at, values[i]!, plane));
  // The stroke keeps a band visible that is thinner than a pixel, as for baselines of a constant workload.
  const area = `<path d="${areaPath(edge(band.high), edge(band.low))}" fill="${theme.band}" stroke="${theme.band}" stroke-width="2" stroke-linejoin="round" ${clip}/>`;
  const middle = edge(band.mid);
  const path = middle.length === 1 ? `${pathOf(middle)}h2.5` : pathOf(middle);
  return `${area}<path d="${path}" fill="none" stroke="${theme.median}" stroke-width="1.8" stroke-linejoin="round" stroke-linecap="round" ${clip}/>`;
}

function drawLimit({ name, bytes }: LimitView, plane: Plane): string {
  const { theme, left, right } = plane;
  const [color, dash] = name === "limit" ? [theme.limit, LIMIT_DASH] : [theme.budget, BUDGET_DASH];
  return `<path d="M${left} ${yOf(bytes, plane).toFixed(1)}H${right}" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}" fill="none"/>`;
}

/** The area of the line above its lowest limit; of a growth within its limits, the area above the baseline. */
function drawExcess({ peak, band, limits }: PanelView, runs: readonly Pixels[], plane: Plane, growth: boolean): string {
  const { left, right, top, theme, id } = plane;
  const lowest = limits.filter(({ isInside }) => isInside).at(-1);
  let edge: Pixels;
  if (lowest !== undefined && peak !== null && peak.bytes > lowest.bytes) {
    edge = [pixel(plane.axis.from, lowest.bytes, plane), pixel(plane.axis.to, lowest.bytes, plane)];
  } else if (growth && band !== null) {
    const high = band.x.map((at, i) => pixel(at, band.high[i]!, plane));
    // The band ends with the centres of its outermost spans.
    edge = [[left, high[0]![1]], ...high, [right, high.at(-1)![1]]];
  } else {
    return "";
  }
  const above = `${pathOf(edge)}L${right} ${top - 4}L${left} ${top - 4}Z`;
  const below = runs.map((points) =>
    areaPath(points, [
      [points[0]![0], plane.bottom],
      [points.at(-1)![0], plane.bottom],
    ]),
  );
  return `<defs><clipPath id="${id}-over"><path d="${above}"/></clipPath></defs><path d="${below.join("")}" fill="${theme.excess}" fill-opacity="0.13" clip-path="url(#${id}-over)"/>`;
}

interface MarkLine {
  readonly x: number;
  readonly text: string;
}

function markLines(marks: PlotText["marks"], plane: Plane): MarkLine[] {
  return marks
    .flatMap(({ time_s, text }) => {
      const x = xOf(plane.axis.positionOf(time_s), plane);
      return Number.isFinite(time_s) && x >= plane.left && x <= plane.right ? [{ x, text }] : [];
    })
    .slice(0, 6);
}

interface Label extends LabelRequest {
  readonly text: string;
  readonly color: string;
}

function label(text: string, color: string, corners: (width: number, height: number) => readonly Point[]): Label {
  const width = textWidth(text, LABEL_SIZE);
  return { text, color, width, height: LABEL_HEIGHT, corners: corners(width, LABEL_HEIGHT) };
}

/** The labels, the most important first: one that finds no place is left out. */
function labelsOf(
  view: PanelView,
  runs: readonly Pixels[],
  marks: readonly MarkLine[],
  plane: Plane,
  text: PlotText,
): Label[] {
  const { left, right, top, bottom, theme } = plane;
  const { peak, band, growth } = view;
  const size = (bytes: number): string => formatSize(view.series.metric, bytes, "short");
  const labels: Label[] = [];
  if (peak !== null) {
    const [x, y] = pixel(peak.x, peak.bytes, plane);
    labels.push(
      label(size(peak.bytes), theme.line, (w, h) => [
        { x: x - w - 10, y: y - h - 3 },
        { x: x - w / 2, y: y - h - 9 },
        { x: x + 10, y: y - h / 2 },
        { x: x - w - 12, y: y + 4 },
        { x: x - w / 2, y: y + 9 },
      ]),
    );
  }
  for (const { name, bytes, isInside } of view.limits) {
    const y = isInside ? yOf(bytes, plane) : top + LABEL_HEIGHT;
    labels.push(
      label(`${name} ${size(bytes)}${isInside ? "" : " ↑"}`, theme[name], (w, h) =>
        [y - h - 3, y + 3].flatMap((at) =>
          [left + 8, right - w - 8, (left + right - w) / 2].map((x) => ({ x, y: at })),
        ),
      ),
    );
  }
  const rate =
    growth === undefined ? "" : `, +${size(growth.bytes)}${growth.per === "second" ? "/s" : ` a ${growth.per}`}`;
  const points = runs.flat();
  if (points.length > 0)
    labels.push(label(text.name + rate, theme.line, nearLine(points, [0.6, 0.45, 0.75, 0.3], plane)));
  if (band !== null) {
    const middle = band.x.map((at, i) => pixel(at, band.mid[i]!, plane));
    labels.push(label(band.label, theme.soft, nearLine(middle, [1, 0.85, 0.3, 0.5, 0.15], plane)));
  }
  for (const { x, text: mark } of marks) {
    labels.push(
      label(fitText(mark, LABEL_SIZE, 220), theme.soft, (w, h) => [
        { x: x + 6, y: bottom - h - 4 },
        { x: x - w - 6, y: bottom - h - 4 },
        { x: x + 6, y: top + 2 },
      ]),
    );
  }
  return labels;
}

/** Corners above and below a line at shares of the plot's width: first ending at that share, then around it. */
function nearLine(points: Pixels, shares: readonly number[], { left, right }: Plane) {
  return (width: number, height: number): Point[] =>
    shares.flatMap((share) => {
      const end = left + share * (right - left);
      return [end - width - 8, end - width / 2].flatMap((x) => {
        const near = points.filter(([at]) => at >= x - 4 && at <= x + width + 4).map(([, y]) => y);
        if (near.length === 0) return [];
        const [above, below] = [Math.min(...near) - height - 5, Math.max(...near) + 5];
        return [
          { x, y: above },
          { x, y: below },
        ];
      });
    });
}

function drawLabels(labels: readonly Label[], view: PanelView, runs: readonly Pixels[], plane: Plane): string[] {
  const { left, right, top, bottom, theme } = plane;
  const area = { x: left + 2, y: top - 2, width: right - left, height: bottom - top };
  const lines = [
    ...runs,
    ...(view.band === null ? [] : [view.band.x.map((at, i) => pixel(at, view.band!.mid[i]!, plane))]),
    ...view.limits
      .filter(({ isInside }) => isInside)
      .map(
        ({ bytes }): Pixels => [
          [left, yOf(bytes, plane)],
          [right, yOf(bytes, plane)],
        ],
      ),
  ];
  const boxes = placeLabels(labels, area, lines.flatMap(strokesOf));
  return labels.flatMap(({ text, color }, i) => {
    const box = boxes[i] ?? null;
    if (box === null) return [];
    // The edge in the colour of the paper keeps letters readable where they cross a line.
    return `<text x="${box.x.toFixed(1)}" y="${(box.y + 18).toFixed(1)}" font-size="${LABEL_SIZE}" fill="${color}" stroke="${theme.paper}" stroke-width="4" stroke-opacity="0.8" stroke-linejoin="round" paint-order="stroke">${escapeHtml(text)}</text>`;
  });
}

/** A line as vertical strokes, one each 6 pixels. */
function strokesOf(points: Pixels): Stroke[] {
  const strokes: Stroke[] = [];
  for (let i = 1; i < points.length; i++) {
    const [[x0, y0], [x1, y1]] = [points[i - 1]!, points[i]!];
    const steps = Math.max(1, Math.ceil(Math.abs(x1 - x0) / 6));
    for (let k = 0; k < steps; k++) {
      const [from, to] = [y0 + ((y1 - y0) * k) / steps, y0 + ((y1 - y0) * (k + 1)) / steps];
      strokes.push({
        x: x0 + ((x1 - x0) * (k + 0.5)) / steps,
        top: Math.min(from, to) - 2,
        bottom: Math.max(from, to) + 2,
      });
    }
  }
  return strokes;
}

/** Horizontal lines with their numbers at the left. */
export function drawSizes({ values, labels }: Ticks, plane: Plane): string {
  const { left, right, theme } = plane;
  return values
    .map((value, i) => {
      const y = yOf(value, plane);
      return `<path d="M${left} ${y.toFixed(1)}H${right}" stroke="${theme.grid}" stroke-width="${i === 0 ? 2 : 1.2}"/>${svgText(labels[i] ?? "", left - 10, y + 6, LABEL_SIZE, theme.soft, END)}`;
    })
    .join("\n");
}

/** The numbers below the lowest panel. */
export function drawPositions({ values, labels }: Ticks, plane: Plane): string {
  const { left, right, bottom, theme } = plane;
  return values
    .map((value, i) => {
      const x = xOf(value, plane);
      const half = textWidth(labels[i]!, LABEL_SIZE) / 2;
      // The edges of the picture would cut the outermost labels.
      const at = Math.max(left - 40 + half, Math.min(right + 20 - half, x));
      return `<path d="M${x.toFixed(1)} ${bottom}v5" stroke="${theme.soft}" stroke-width="1.2"/>${svgText(labels[i] ?? "", at, bottom + 25, LABEL_SIZE, theme.soft, MIDDLE)}`;
    })
    .join("\n");
}
