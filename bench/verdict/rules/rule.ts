/** A rule's result for a series: `none` when it does not judge it. */
export type Answer = "leak" | "rising" | "other" | "none";

/** A level can fall; a high-water series is a running maximum. Rules without this distinction ignore it. */
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
