import { formatBytes } from "../../core/units.ts";
import { INK, LIMIT_LINE, LINE_STYLES } from "../../report/drawing/palette.ts";
import { MARGIN, svgDocument, svgText, WIDTH } from "../../report/drawing/svg.ts";
import { fitText, textWidth } from "../../report/drawing/text-width.ts";
import { type ScaleDocument, type ScaleProbe, sightOf } from "./scale-document.ts";
import { answerText, formatSize } from "./scale-table.ts";

const HEIGHT = 520;
const TICK = 17;
const PLOT = {
  /** Space left of the plot: "512 KiB" and the distance to the axis. */
  left: 130,
  top: 126,
  bottom: HEIGHT - 96,
  right: WIDTH - MARGIN - 12,
} as const;
const MARK = 8;
const LEAK = LINE_STYLES[0];
const STATED = LINE_STYLES[3];

/** A logarithmic axis from `low` to `high`, both above 0. */
interface LogAxis {
  readonly low: number;
  readonly high: number;
  readonly at: (value: number) => number;
}

function logAxis(low: number, high: number, from: number, to: number): LogAxis {
  const span = Math.log(high / low);
  return { low, high, at: (value) => from + (Math.log(value / low) / span) * (to - from) };
}

/** Powers of a base within an axis, thinned to at most `most`. */
function powers(axis: LogAxis, base: number, most: number): readonly number[] {
  const first = Math.ceil(Math.log(axis.low) / Math.log(base) - 1e-9);
  const last = Math.floor(Math.log(axis.high) / Math.log(base) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / most));
  const ticks: number[] = [];
  for (let power = Math.ceil(first / every) * every; power <= last; power += every) ticks.push(base ** power);
  return ticks;
}

/** Labels of the size axis: as many of each decade as fit, and powers of ten alone where three are too many. */
function sizeTicks(axis: LogAxis): readonly number[] {
  const decades = powers({ ...axis, low: axis.low / 10 }, 10, 40);
  const of = (parts: readonly number[]): readonly number[] =>
    decades
      .flatMap((ten) => parts.map((part) => part * ten))
      .filter((one) => one >= axis.low && one <= axis.high && Number.isInteger(one));
  const choices = [of([1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]), of([1, 2, 3, 5, 7]), of([1, 2, 5])];
  return choices.find((ticks) => ticks.length <= 9) ?? of([1]);
}

const text = (label: string, x: number, y: number, size: number, color: string, anchor = "start"): string =>
  svgText(label, x, y, size, color, ` text-anchor="${anchor}"`);

/** Text over lines, on a background of its own. */
function plate(label: string, x: number, y: number, color: string, anchor: "start" | "middle" | "end"): string {
  const width = textWidth(label, TICK);
  const start = x - (anchor === "end" ? width : anchor === "middle" ? width / 2 : 0);
  return `<rect x="${(start - 4).toFixed(1)}" y="${y - TICK}" width="${(width + 8).toFixed(1)}" height="${TICK + 6}" rx="3" fill="${INK.paper}" fill-opacity="0.85"/>${text(label, x, y, TICK, color, anchor)}`;
}

function line(
  points: readonly (readonly [number, number])[],
  style: { color: string; width: number; dash: string },
): string {
  if (points.length < 2) return "";
  const path = points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  const dash = style.dash === "" ? "" : ` stroke-dasharray="${style.dash}"`;
  return `<path d="${path}" fill="none" stroke="${style.color}" stroke-width="${style.width}"${dash} stroke-linejoin="round" clip-path="url(#plot)"/>`;
}

/** A judged size: filled = visible, hollow = silent; a triangle at the bottom where nothing accumulated. */
function mark(x: number, y: number, visible: boolean, grown: boolean): string {
  const look = visible
    ? `fill="${LIMIT_LINE.color}" stroke="${INK.paper}" stroke-width="2"`
    : `fill="${INK.paper}" stroke="${LEAK.color}" stroke-width="3"`;
  return grown
    ? `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${MARK}" ${look}/>`
    : `<path d="M${(x - MARK).toFixed(1)} ${(y - 2 * MARK).toFixed(1)}h${2 * MARK}l${-MARK} ${1.6 * MARK}z" ${look}/>`;
}

/** "8 MiB", "1.5 KiB": without trailing zeros. */
function shortBytes(bytes: number): string {
  return formatBytes(bytes).replace(/\.?0+(?= )/, "");
}

interface LegendEntry {
  readonly label: string;
  readonly swatch: (x: number, y: number) => string;
}

function stroke({ color, width, dash }: { color: string; width: number; dash: string }): LegendEntry["swatch"] {
  return (x, y) =>
    `<path d="M${x} ${y}h34" stroke="${color}" stroke-width="${width}"${dash === "" ? "" : ` stroke-dasharray="${dash}"`}/>`;
}

function legend(entries: readonly LegendEntry[]): string {
  let x = MARGIN;
  return entries
    .map(({ label, swatch }) => {
      const shown = swatch(x, HEIGHT - 26) + text(label, x + 42, HEIGHT - 20, TICK, INK.text);
      x += 42 + textWidth(label, TICK) + 26;
      return shown;
    })
    .join("");
}

const LIMIT = { color: LIMIT_LINE.color, width: 2.5, dash: LIMIT_LINE.dash };

function frame(x: LogAxis, y: LogAxis, document: ScaleDocument): string {
  const sizes = sizeTicks(x).map((value) => {
    const at = x.at(value);
    return `<path d="M${at.toFixed(1)} ${PLOT.top}V${PLOT.bottom}" stroke="${INK.grid}" stroke-width="1.2"/>${text(formatSize("batch", value).replace("batch ", ""), at, PLOT.bottom + 25, TICK, INK.soft, "middle")}`;
  });
  const bytes = powers(y, 2, 7).map((value) => {
    const at = y.at(value);
    return `<path d="M${PLOT.left} ${at.toFixed(1)}H${PLOT.right}" stroke="${INK.grid}" stroke-width="1.2"/>${text(shortBytes(value), PLOT.left - 12, at + 6, TICK, INK.soft, "end")}`;
  });
  const unit = document.by === "batch" ? "images in a batch" : document.by;
  return [
    `<defs><clipPath id="plot"><rect x="${PLOT.left}" y="${PLOT.top}" width="${PLOT.right - PLOT.left}" height="${PLOT.bottom - PLOT.top}"/></clipPath></defs>`,
    ...sizes,
    ...bytes,
    `<path d="M${PLOT.left} ${PLOT.bottom}H${PLOT.right}" stroke="${INK.axis}" stroke-width="1.5"/>`,
    text(unit, PLOT.right, PLOT.bottom + 50, TICK, INK.soft, "end"),
  ].join("\n");
}

/** The boundary: the area between the silent and the visible size. */
function boundary(x: LogAxis, { answer, by }: ScaleDocument): string {
  if (answer.kind !== "visible") return "";
  const within = (at: number): number => Math.min(PLOT.right, Math.max(PLOT.left, at));
  const [from, to] = [within(x.at(answer.below)), within(x.at(answer.at))];
  const label = `visible at ${formatSize(by, answer.at)}`;
  const room = 12 + textWidth(label, TICK);
  const right = to + room < PLOT.right;
  const end = from - room > PLOT.left ? from : to;
  return [
    `<rect x="${from.toFixed(1)}" y="${PLOT.top}" width="${(to - from).toFixed(1)}" height="${PLOT.bottom - PLOT.top}" fill="${LIMIT_LINE.color}" fill-opacity="0.14"/>`,
    `<path d="M${to.toFixed(1)} ${PLOT.top}V${PLOT.bottom}" stroke="${LIMIT_LINE.color}" stroke-width="1.5"/>`,
    plate(label, right ? to + 8 : end - 8, PLOT.top + 22, "#a84300", right ? "start" : "end"),
  ].join("");
}

/** The predicted answer before any leaky run. */
function guessMark(x: LogAxis, { theory, by }: ScaleDocument): string {
  const { guess } = theory;
  if (guess === null || guess < x.low || guess > x.high) return "";
  const at = x.at(guess);
  const label = `guess ${formatSize(by, Math.round(Number(guess.toPrecision(2))))}`;
  const left = at - 8 - textWidth(label, TICK) > PLOT.left;
  return [
    `<path d="M${at.toFixed(1)} ${PLOT.top}V${PLOT.bottom}" stroke="${INK.soft}" stroke-width="1.5" stroke-dasharray="2 5"/>`,
    plate(label, left ? at - 6 : at + 6, PLOT.bottom - 10, INK.soft, left ? "end" : "start"),
  ].join("");
}

interface DrawnProbe extends ScaleProbe {
  readonly excess_bytes: number;
  readonly mde_bytes: number;
}

/** The probes to draw. A size that was not judged is neither silent nor visible, and its figures are not reliable. */
function measured(probes: readonly ScaleProbe[]): readonly DrawnProbe[] {
  return probes
    .flatMap((probe) => {
      const { excess_bytes, mde_bytes } = probe;
      if (excess_bytes === null || mde_bytes === null || sightOf(probe) === "unjudged") return [];
      return [{ ...probe, excess_bytes, mde_bytes }];
    })
    .sort((a, b) => a.value - b.value);
}

/** Bytes of the statement at these sizes; empty without a statement, or where it is too small to be drawn. */
function shownStatement({ theory }: ScaleDocument, sizes: readonly number[], least: number): readonly number[] {
  const { kept } = theory;
  if (kept === null) return [];
  const bytes = sizes.map((size) => kept.constant + kept.per_unit * size);
  // Smallest drawn statement as a share of the measured bytes. A smaller one would compress the rest of the plot.
  return bytes.every((one) => one > least * (1 / 2000)) ? bytes : [];
}

/** Both axes: the range of the measurements and of the boundary, and of the guess where it is within a factor of 8. */
function axes(document: ScaleDocument, probes: readonly DrawnProbe[]): { readonly x: LogAxis; readonly y: LogAxis } {
  const { answer } = document;
  // A side of the boundary may have no figure.
  const sides = answer.kind === "visible" ? [answer.below, answer.at] : [];
  const sizes = [...probes.map(({ value }) => value), ...sides];
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  const { guess, detectable } = document.theory;
  const near = guess !== null && guess >= least / 8 && guess <= most * 8 ? [guess] : [];
  const x = logAxis(Math.min(least, ...near) / 1.35, Math.max(most, ...near) * 1.35, PLOT.left, PLOT.right);
  const bytes = probes.flatMap(({ excess_bytes: excess, mde_bytes: mde }) => (excess > 0 ? [excess, mde] : [mde]));
  const figures = detectable === null ? bytes : [...bytes, detectable.bytes];
  const all = [...figures, ...shownStatement(document, sizes, Math.min(...figures))];
  return { x, y: logAxis(Math.min(...all) / 3, Math.max(...all) * 3, PLOT.bottom, PLOT.top) };
}

function plot(document: ScaleDocument, probes: readonly DrawnProbe[]): string {
  const { x, y } = axes(document, probes);
  const { kept } = document.theory;
  const ends = [x.low, x.high] as const;
  const limit = [
    [ends[0], probes[0]?.mde_bytes ?? 1] as const,
    ...probes.map(({ value, mde_bytes: mde }) => [value, mde] as const),
    [ends[1], probes.at(-1)?.mde_bytes ?? 1] as const,
  ];
  const steps = Array.from({ length: 33 }, (_, i) => ends[0] * (ends[1] / ends[0]) ** (i / 32));
  const stated = steps.flatMap((value) => {
    const bytes = kept === null ? 0 : kept.constant + kept.per_unit * value;
    return bytes > y.low && bytes < y.high ? [[value, bytes] as const] : [];
  });
  const drawn = (points: readonly (readonly [number, number])[]): readonly (readonly [number, number])[] =>
    points.map(([value, bytes]) => [x.at(value), y.at(bytes)]);
  const grown = probes.filter(({ excess_bytes: excess }) => excess > 0);
  const marks = probes.map(({ value, excess_bytes: excess, visible }) =>
    mark(x.at(value), excess > 0 ? y.at(excess) : PLOT.bottom, visible, excess > 0),
  );
  return [
    frame(x, y, document),
    boundary(x, document),
    line(drawn(stated), STATED),
    line(drawn(limit), LIMIT),
    line(drawn(grown.map(({ value, excess_bytes: excess }) => [value, excess] as const)), { ...LEAK, width: 2 }),
    guessMark(x, document),
    ...marks,
    legend([
      { label: "silent", swatch: (left, at) => mark(left + 24, at, false, true) },
      { label: "visible", swatch: (left, at) => mark(left + 24, at, true, true) },
      { label: "leaky over fixed, measured", swatch: stroke({ ...LEAK, width: 2 }) },
      { label: "can be seen nine times in ten", swatch: stroke(LIMIT) },
      ...(stated.length < 2 ? [] : [{ label: "kept by its own statement", swatch: stroke(STATED) }]),
    ]),
  ].join("\n");
}

/** A sentence in at most two lines of the picture. */
function twoLines(label: string, size: number, width: number): readonly string[] {
  const all = label.split(" ");
  let first = "";
  while (all.length > 0 && textWidth(`${first} ${all[0]}`, size) <= width) first = `${first} ${all.shift()}`.trim();
  return all.length === 0 ? [first] : [first, fitText(all.join(" "), size, width)];
}

/** Accumulated leak against detectable size, logarithmic, as an SVG of 1200x520 pixels. Outside text is escaped. */
export function scalePicture(document: ScaleDocument): string {
  const probes = measured(document.probes);
  const sentence = twoLines(answerText(document), 19, WIDTH - 2 * MARGIN);
  return svgDocument(WIDTH, HEIGHT, INK.paper, [
    text(fitText(`${document.pattern}, by ${document.by}`, 26, WIDTH - 2 * MARGIN), MARGIN, 44, 26, INK.text),
    ...sentence.map((label, i) => text(fitText(label, 19, WIDTH - 2 * MARGIN), MARGIN, 76 + 26 * i, 19, INK.soft)),
    probes.length === 0
      ? text("No size has a figure that could be drawn.", WIDTH / 2, HEIGHT / 2, 22, INK.soft, "middle")
      : plot(document, probes),
  ]);
}
