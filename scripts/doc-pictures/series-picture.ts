import type { DriftClass } from "../../src/analysis/series/document.ts";
import { formatBytes, formatBytesDelta } from "../../src/core/units.ts";
import { residualMser } from "../../src/stats/mser.ts";
import {
  axes,
  type Chip,
  COLORS,
  type Frame,
  frameOf,
  heading,
  label,
  legend,
  lineMark,
  picture,
  polyline,
  xOf,
  yOf,
} from "./frame.ts";
import { analysed, type ExampleSeries } from "./series.ts";

const TICK_ROOM = 84;
/** Points that are drawn and searched for the cut. */
const BLOCK = 5;

const BAD: readonly DriftClass[] = ["leak"];
const OPEN: readonly DriftClass[] = ["rising"];

function chipOf(klass: DriftClass): Chip {
  return { text: klass, color: BAD.includes(klass) ? COLORS.bad : OPEN.includes(klass) ? COLORS.open : COLORS.good };
}

function means(bytes: Float64Array): { x: Float64Array; y: Float64Array } {
  const count = Math.floor(bytes.length / BLOCK);
  const y = Float64Array.from({ length: count }, (_, k) => {
    let sum = 0;
    for (let i = 0; i < BLOCK; i++) sum += bytes[k * BLOCK + i]!;
    return sum / BLOCK;
  });
  return { x: Float64Array.from({ length: count }, (_, k) => (k + 0.5) * BLOCK), y };
}

/** Where warm-up ends, in steps; 0 when nothing is cut. */
function warmUpEnd({ bytes, metric }: ExampleSeries): number {
  if (metric === "reserved") return 0;
  const { x, y } = means(bytes);
  return residualMser(x, y, 512) * BLOCK;
}

function extent(pair: readonly ExampleSeries[]): readonly [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { bytes } of pair) {
    for (const value of bytes) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return [low - 0.06 * (high - low), high + 0.1 * (high - low)];
}

/** The growth line through the median of the residuals; under a saw-tooth through the lower envelope. */
function growthLine(series: ExampleSeries, slope: number, from: number, frame: Frame): string {
  const left = series.bytes.subarray(from).map((value, i) => value - slope * i);
  const sorted = Float64Array.from(left).sort();
  const level = sorted[Math.floor(sorted.length * (series.name.startsWith("saw-tooth") ? 0.06 : 0.5))]!;
  const last = series.bytes.length - 1;
  return polyline(
    [
      [xOf(from, frame), yOf(level, frame)],
      [xOf(last, frame), yOf(level + slope * (last - from), frame)],
    ],
    COLORS.mark,
    3,
    "10 6",
  );
}

function panel(series: ExampleSeries, side: 0 | 1, y: readonly [number, number]): string {
  const analysis = analysed(series);
  if (analysis.class !== series.expected) {
    throw new Error(`${series.name} is called ${analysis.class}; the page says ${series.expected}`);
  }
  const frame = frameOf(side, [0, series.bytes.length], y, TICK_ROOM);
  const cut = warmUpEnd(series);
  const detail = [
    `growth ${formatBytesDelta(analysis.growth_bytes ?? 0)}`,
    series.metric === "reserved"
      ? "a running maximum: no slope is tested"
      : `a leak of ${formatBytes(analysis.mde_bytes ?? 0)} would show`,
  ].join(", ");
  const warm =
    cut === 0
      ? ""
      : `<rect x="${frame.left}" y="${frame.top}" width="${(xOf(cut, frame) - frame.left).toFixed(1)}" height="${frame.bottom - frame.top}" fill="#bcc4cd" fill-opacity="0.45"/>`;
  const points = [...series.bytes].map((value, step) => [xOf(step, frame), yOf(value, frame)] as const);
  return [
    heading(frame, TICK_ROOM, chipOf(analysis.class), series.caption, detail),
    axes(
      frame,
      [0, 200, 400, 600].map((step) => [step, step === 600 ? "step 600" : String(step)] as const),
    ),
    warm,
    polyline(points, COLORS.data, 2),
    series.metric === "reserved"
      ? records(series, frame)
      : growthLine(series, analysis.slope_bytes_per_step ?? 0, cut, frame),
    cut === 0 ? "" : label("warm-up, cut", xOf(cut, frame) + 8, frame.bottom - 12, COLORS.plain),
  ].join("");
}

/** New maxima in the second half, which is where they count. */
function records({ bytes }: ExampleSeries, frame: Frame): string {
  const half = bytes.length / 2;
  let top = Number.NEGATIVE_INFINITY;
  const out: string[] = [
    polyline(
      [
        [xOf(half, frame), frame.top],
        [xOf(half, frame), frame.bottom],
      ],
      COLORS.plain,
      1.5,
      "3 5",
    ),
  ];
  bytes.forEach((value, step) => {
    if (value > top && step >= half) {
      out.push(
        `<circle cx="${xOf(step, frame).toFixed(1)}" cy="${yOf(value, frame).toFixed(1)}" r="5" fill="${COLORS.mark}" stroke="#ffffff" stroke-width="1.5"/>`,
      );
    }
    top = Math.max(top, value);
  });
  out.push(label("second half", xOf(half, frame) + 8, frame.bottom - 12, COLORS.plain));
  return out.join("");
}

/** Two series on one scale, as the engine classifies them; throws when a class differs from the page. */
export function seriesPicture(pair: readonly [ExampleSeries, ExampleSeries]): string {
  const y = extent(pair);
  const highwater = pair[0].metric === "reserved";
  return picture(
    panel(pair[0], 0, y),
    panel(pair[1], 1, y),
    legend([
      { mark: lineMark(COLORS.data, 3), words: pair[0].metric },
      highwater
        ? {
            mark: (x, at) => `<circle cx="${x + 15}" cy="${at}" r="5" fill="${COLORS.mark}"/>`,
            words: "new maximum in the second half: four or more are not chance",
          }
        : { mark: lineMark(COLORS.mark, 3, "10 6"), words: "growth of the lower envelope, as measured" },
    ]),
  );
}
