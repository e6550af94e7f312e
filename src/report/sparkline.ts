const BLOCKS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const;
const GAP = " ";
const LIMIT = "┊";

export interface SparklineOptions {
  /** Marked in front of the first interval that is above it; null = unknown. */
  readonly limit?: number | null | undefined;
}

/**
 * Values as a line of block letters, exactly `width` wide; empty when nothing is finite. Each letter is the highest
 * value of its interval, scaled from 0 to the highest value or the limit. A space is an empty interval.
 */
export function sparkline(values: ArrayLike<number>, width: number, options: SparklineOptions = {}): string {
  const letters = Math.max(1, Math.floor(width));
  const limit = Number.isFinite(options.limit) ? options.limit! : null;
  const highs = highest(values, letters);
  if (highs.every(Number.isNaN)) return "";
  if (limit === null || !highs.some((value) => value > limit)) return draw(highs, limit);
  // The mark takes the place of one letter.
  const fewer = letters === 1 ? highs : highest(values, letters - 1);
  const line = [...draw(fewer, limit)];
  line.splice(
    fewer.findIndex((value) => value > limit),
    letters === 1 ? 1 : 0,
    LIMIT,
  );
  return line.join("");
}

/** Highest finite value of each of `count` equal intervals; NaN in one without any. */
function highest(values: ArrayLike<number>, count: number): Float64Array {
  const highs = new Float64Array(count).fill(Number.NaN);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (!Number.isFinite(value)) continue;
    const from = Math.floor((i * count) / values.length);
    // Fewer values than intervals: each value covers several.
    const to = Math.max(from + 1, Math.floor(((i + 1) * count) / values.length));
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
    if (Number.isNaN(value)) out += GAP;
    else out += BLOCKS[span <= 0 ? 0 : Math.min(7, Math.floor(((value / 2 - bottom / 2) / span) * 8))]!;
  }
  return out;
}
