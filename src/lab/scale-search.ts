/** Whether the gate detected the leak at a size; "unjudged" is neither. */
export type Sight = "visible" | "silent" | "unjudged";

/** A size of a run with the gate's result. */
export interface Seen {
  readonly value: number;
  readonly sight: Sight;
}

export interface SearchBounds {
  /** Smallest and largest size, whole numbers. */
  readonly from: number;
  readonly to: number;
  /** The search ends when the smallest visible size is at most this many times the largest silent one; above 1. */
  readonly factor: number;
}

/** The next size, or the result. */
export type SearchStep =
  | { readonly kind: "probe"; readonly value: number }
  | { readonly kind: "visible"; readonly at: number; readonly below: number }
  /** Already visible at the lower bound. */
  | { readonly kind: "always"; readonly at: number }
  /** Still silent at the upper bound. */
  | { readonly kind: "never"; readonly to: number }
  /** The boundary is among these sizes, which could not be judged. */
  | { readonly kind: "unjudged"; readonly values: readonly number[] };

/** Maximum step while only one side is known, because the cost of a size is proportional to it. */
const FARTHEST = 16;
/** Maximum number of sizes that could not be judged: so many have a common cause. */
export const MAX_UNJUDGED = 6;

function valuesOf(seen: readonly Seen[], sight: Sight): readonly number[] {
  return seen.flatMap((one) => (one.sight === sight ? [one.value] : [])).sort((a, b) => a - b);
}

/** The largest silent size, and the smallest visible one above it; null when there is none. */
export function bracket(seen: readonly Seen[]): { readonly silent: number | null; readonly visible: number | null } {
  const silent = valuesOf(seen, "silent").at(-1) ?? null;
  // A size that was visible below a silent one was a chance result, or another effect: the boundary is above.
  const visible = valuesOf(seen, "visible").find((value) => silent === null || value > silent);
  return { silent, visible: visible ?? null };
}

/** The geometric middle of the widest gap between neighbours; null when none is wider than `factor`. */
function middleOfWidest(sizes: readonly number[], factor: number): number | null {
  const gaps = sizes.flatMap((low, index) => {
    const high = sizes[index + 1];
    return high === undefined || high - low <= 1 || high <= low * factor ? [] : [{ low, high }];
  });
  const [widest] = gaps.sort((a, b) => b.high / b.low - a.high / a.low);
  if (widest === undefined) return null;
  const { low, high } = widest;
  return Math.min(high - 1, Math.max(low + 1, Math.round(Math.sqrt(low * high))));
}

/**
 * The next size to try in the search for the smallest visible one, on a geometric scale. Until both sides are known it
 * steps away from the known side, by the factor, its square, its fourth power, and so on: a good hint is confirmed by
 * two sizes, and a bad one costs the logarithm of its error. Between both sides it bisects. A size that could not be
 * judged is neither side: the search skips it, then continues beside it. Every size is tried once, so for any answers
 * the search ends with a silent and a visible neighbour, at a bound, or with the sizes that could not be judged.
 * @param hint current estimate of the boundary; null = unknown
 */
export function nextStep(seen: readonly Seen[], bounds: SearchBounds, hint: number | null): SearchStep {
  const { from, to, factor } = bounds;
  const { silent, visible } = bracket(seen);
  const usable = hint !== null && Number.isFinite(hint) && hint > 0 ? hint : null;
  if (seen.length === 0) {
    const first = Math.ceil(usable ?? Math.sqrt(from * to));
    return { kind: "probe", value: Math.min(to, Math.max(from, first)) };
  }
  if (silent !== null && visible !== null && (visible - silent <= 1 || visible <= silent * factor))
    return { kind: "visible", at: visible, below: silent };
  if (silent !== null && silent >= to) return { kind: "never", to };
  if (visible !== null && visible <= from) return { kind: "always", at: visible };
  const unjudged = valuesOf(seen, "unjudged");
  const between = unjudged.filter((value) => value > (silent ?? 0) && value < (visible ?? Infinity));
  const stuck: SearchStep = { kind: "unjudged", values: between.length === 0 ? unjudged : between };
  if (unjudged.length >= MAX_UNJUDGED) return stuck;
  const tried = [silent ?? [], between, visible ?? []].flat();
  const gap = (least: number): SearchStep => {
    const value = middleOfWidest(tried, least);
    return value === null ? stuck : { kind: "probe", value };
  };
  if (silent !== null && visible !== null) return gap(1);
  const reach = Math.min(FARTHEST, factor ** (2 ** Math.min(seen.length - 1, 30)));
  // Just beyond the hint, so that the other side becomes known.
  const beyond = Math.sqrt(factor);
  const [least, most] = [Math.min(...tried), Math.max(...tried)];
  if (visible === null && most < to) {
    const wanted = Math.min(most * FARTHEST, Math.max(most * reach, (usable ?? 0) * beyond));
    return { kind: "probe", value: Math.min(to, Math.max(most + 1, Math.floor(wanted))) };
  }
  if (silent === null && least > from) {
    const wanted = Math.max(least / FARTHEST, Math.min(least / reach, (usable ?? Infinity) / beyond));
    return { kind: "probe", value: Math.max(from, Math.min(least - 1, Math.ceil(wanted))) };
  }
  // Both bounds are tried and one side is still unknown: it may be among the sizes that could not be judged.
  return gap(factor);
}
