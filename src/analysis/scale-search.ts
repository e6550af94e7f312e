/** A size of a run, and whether the gate saw the leak in it. */
export interface Seen {
  readonly value: number;
  readonly visible: boolean;
}

export interface SearchBounds {
  /** Smallest and largest size, whole numbers. */
  readonly from: number;
  readonly to: number;
  /** The answer is known when the smallest visible size is at most this many times the largest silent one; above 1. */
  readonly factor: number;
}

/** What to do next, or what is known. */
export type SearchStep =
  | { readonly kind: "probe"; readonly value: number }
  | { readonly kind: "visible"; readonly at: number; readonly below: number }
  /** Visible at the lower bound already. */
  | { readonly kind: "always"; readonly at: number }
  /** Silent at the upper bound still. */
  | { readonly kind: "never"; readonly to: number };

/** The farthest a step goes while only one side is known: a size above costs as much more as it is larger. */
const FARTHEST = 16;

/** The largest silent size, and the smallest visible one above it; null where there is none. */
export function bracket(seen: readonly Seen[]): { readonly silent: number | null; readonly visible: number | null } {
  const silent = seen.flatMap(({ value, visible }) => (visible ? [] : [value]));
  const low = silent.length === 0 ? null : Math.max(...silent);
  // What was visible below a size that is silent was luck, or not of the leak: the answer lies above.
  const visible = seen.flatMap(({ value, visible: one }) => (one && (low === null || value > low) ? [value] : []));
  return { silent: low, visible: visible.length === 0 ? null : Math.min(...visible) };
}

/**
 * The next size to try in the search for the smallest visible one, on a geometric scale. Until both sides are known it steps away from
 * what is known, by the factor, its square, its fourth power, and so on: a good first guess is proved by two sizes, a bad one costs the
 * logarithm of its error. Between both sides it halves. Every size is tried once, so whatever the answers are, it ends with a silent and a
 * visible size side by side, or at a bound.
 * @param hint where theory places the answer by now; null = it does not know
 */
export function nextStep(seen: readonly Seen[], bounds: SearchBounds, hint: number | null): SearchStep {
  const { from, to, factor } = bounds;
  const { silent, visible } = bracket(seen);
  const within = (value: number): number => Math.min(to, Math.max(from, value));
  const usable = hint !== null && Number.isFinite(hint) && hint > 0 ? hint : null;
  if (silent === null && visible === null)
    return { kind: "probe", value: within(Math.ceil(usable ?? Math.sqrt(from * to))) };
  if (silent !== null && visible !== null) {
    if (visible - silent <= 1 || visible <= silent * factor) return { kind: "visible", at: visible, below: silent };
    const middle = Math.round(Math.sqrt(silent * visible));
    return { kind: "probe", value: Math.min(visible - 1, Math.max(silent + 1, middle)) };
  }
  const reach = Math.min(FARTHEST, factor ** (2 ** Math.min(seen.length - 1, 30)));
  // Just beyond where theory has it, so that the other side becomes known.
  const beyond = Math.sqrt(factor);
  if (silent !== null) {
    if (silent >= to) return { kind: "never", to };
    const wanted = Math.min(silent * FARTHEST, Math.max(silent * reach, (usable ?? 0) * beyond));
    return { kind: "probe", value: Math.min(to, Math.max(silent + 1, Math.floor(wanted))) };
  }
  const seenAt = visible as number;
  if (seenAt <= from) return { kind: "always", at: seenAt };
  const wanted = Math.max(seenAt / FARTHEST, Math.min(seenAt / reach, (usable ?? Infinity) / beyond));
  return { kind: "probe", value: Math.max(from, Math.min(seenAt - 1, Math.ceil(wanted))) };
}

/** Most sizes that a search tries, whatever they say: steps that double their exponent, long steps, then halving. */
export function mostProbes({ from, to, factor }: SearchBounds): number {
  const doublings = Math.ceil(Math.log2(Math.max(1, Math.log(FARTHEST) / Math.log(factor)))) + 1;
  const long = Math.ceil(Math.log(to / from) / Math.log(FARTHEST)) + 1;
  return 1 + doublings + long + doublings + 1;
}
