const BLOCKS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const;
const GAP = " ";

/**
 * Values as a line of block letters, exactly `width` wide; empty when nothing is finite. Each letter is the highest
 * value of its interval, scaled from 0, or from the lowest where all lie close together. A space is an empty interval.
 */
export function sparkline(values: ArrayLike<number>, width: number): string {
  const letters = Math.max(1, Math.floor(width));
  const highs = new Float64Array(letters).fill(Number.NaN);
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (!Number.isFinite(value)) continue;
    const from = Math.floor((i * letters) / values.length);
    // Fewer values than letters: each value covers several.
    const to = Math.max(from + 1, Math.floor(((i + 1) * letters) / values.length));
    for (let at = from; at < to; at++) if (!(highs[at]! >= value)) highs[at] = value;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (high < low) return "";
  const bottom = low > high * 0.6 && low < high ? low : Math.min(0, low);
  // Halved before the difference, which could otherwise exceed the largest number there is.
  const span = high / 2 - bottom / 2;
  let out = "";
  for (const value of highs) {
    if (Number.isNaN(value)) out += GAP;
    else out += BLOCKS[span <= 0 ? 0 : Math.min(7, Math.floor(((value / 2 - bottom / 2) / span) * 8))]!;
  }
  return out;
}
