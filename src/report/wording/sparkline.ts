const BLOCKS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const;
const LIMIT = "┊";

export interface SparklineOptions {
  /** Marked in front of the first interval that is above it; null = unknown. */
  readonly limit?: number | null | undefined;
  /** Ascending times of the values; without them they are equally far apart. */
  readonly times?: ArrayLike<number> | undefined;
}

/**
 * Values as a line of block letters, exactly `width` wide; empty when nothing is finite. Each letter is the highest
 * value of its interval, scaled from 0 to the highest value or the limit. A space is an empty interval.
 */
export function sparkline(values: ArrayLike<number>, width: number, options: SparklineOptions = {}): string {
  const letters = Math.max(1, Math.floor(width));
  const limit = Number.isFinite(options.limit) ? options.limit! : null;
  const begins = beginnings(values.length, options.times);
  const highs = highest(values, begins, letters);
  if (highs.every(Number.isNaN)) return "";
  if (limit === null || !highs.some((value) => value > limit)) return draw(highs, limit);
  // The mark takes the place of one letter.
  const fewer = letters === 1 ? highs : highest(values, begins, letters - 1);
  const line = [...draw(fewer, limit)];
  line.splice(
    fewer.findIndex((value) => value > limit),
    letters === 1 ? 1 : 0,
    LIMIT,
  );
  return line.join("");
}

/** Where each value begins on a line of length 1, and where it ends: an ascending function of its index. */
type Beginnings = (index: number) => number;

function beginnings(count: number, times: ArrayLike<number> | undefined): Beginnings {
  const first = times?.[0] ?? Number.NaN;
  const span = (times?.[count - 1] ?? Number.NaN) - first;
  if (times === undefined || !(span > 0 && span < Number.POSITIVE_INFINITY)) return (index) => index / count;
  return (index) => (index < count ? ((times[index] ?? Number.NaN) - first) / span : 1);
}

/** Highest finite value of each of `count` equal intervals; NaN in one without any. */
function highest(values: ArrayLike<number>, begins: Beginnings, count: number): Float64Array {
  const highs = new Float64Array(count).fill(Number.NaN);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    const from = Math.min(count - 1, Math.floor(begins(i) * count));
    if (!Number.isFinite(value) || !(from >= 0)) continue;
    // A value stands until the next one.
    const to = Math.min(count, Math.max(from + 1, Math.floor(begins(i + 1) * count)));
    for (let at = from; at < to; at++) if (!(highs[at]! >= value)) highs[at] = value;
  }
  return highs;
}

function draw(highs: Float64Array, limit: number | null): string {
  let [bottom, top] = [0, limit ?? Number.NEGATIVE_INFINITY];
  for (const value of highs) {
    if (value < bottom) bottom = value;
    if (value > top) top = value;
  }
  // Halved before the difference, which could otherwise exceed the largest number there is.
  const span = top / 2 - bottom / 2;
  let out = "";
  for (const value of highs) {
    if (Number.isNaN(value)) out += " ";
    else out += BLOCKS[span <= 0 ? 0 : Math.min(7, Math.floor(((value / 2 - bottom / 2) / span) * 8))]!;
  }
  return out;
}
