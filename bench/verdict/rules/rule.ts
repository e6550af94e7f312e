/** What a rule says of a series: `none` when it declines to judge. */
export type Answer = "leak" | "rising" | "other" | "none";

/** A level can fall; a high-water series is a running maximum. Rules that do not know the difference ignore it. */
export type SeriesKind = "level" | "highwater";

export interface Rule {
  readonly name: string;
  readonly judge: (bytes: Float64Array, kind: SeriesKind) => Answer;
}

/** Longer series are thinned evenly for rules whose work grows faster than the series. */
export function thinned(bytes: Float64Array, most = 600): Float64Array {
  const n = bytes.length;
  return n <= most ? bytes : Float64Array.from({ length: most }, (_, i) => bytes[Math.floor((i * n) / most)]!);
}
