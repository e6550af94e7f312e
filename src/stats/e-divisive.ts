import { mulberry32 } from "./mulberry32.ts";

/** Minimum number of values between two change points: fewer are outliers. */
export const MIN_STRETCH = 5;
/** Values that are looked at together. The next window begins half of it later (Hunter). */
const WINDOW = 50;
const PERMUTATIONS = 1999;
/** Random orders that may separate the values as well as their own order: p-values up to 0.001 are significant. */
const MAX_EXTREME = 1;
/** Sums of the same values in another order differ by their rounding. */
const ROUNDING = 1e-9;

/**
 * Change points of a series by E-divisive (Matteson and James, 2014, "A nonparametric approach for multiple change
 * point analysis of multivariate data"): the split with the largest energy distance, kept where a permutation test
 * finds it significant, then the same on both sides of it. As in Hunter (Fleming et al., 2023), in windows that
 * overlap by half, so that the cost is linear. The orders are seeded: the same values have the same change points.
 * @returns indexes of the first values after each change, ascending
 */
export function changePoints(values: Float64Array): readonly number[] {
  const random = mulberry32(1);
  const found: number[] = [];
  for (let start = 0; start < values.length; ) {
    const end = Math.min(values.length, start + WINDOW);
    for (const at of divide(values.slice(start, end), random)) found.push(start + at);
    if (end === values.length) break;
    start = Math.max(found.at(-1) ?? 0, start + WINDOW / 2);
  }
  return found;
}

function divide(values: Float64Array, random: () => number): readonly number[] {
  const { at, statistic } = bestSplit(values);
  if (!isSignificant(values, statistic, random)) return [];
  return [...divide(values.slice(0, at), random), at, ...divide(values.slice(at), random).map((one) => at + one)];
}

/** The permutation test of a split: how often values in random order have one as large. */
function isSignificant(values: Float64Array, statistic: number, random: () => number): boolean {
  const order = values.slice();
  let extreme = 0;
  for (let drawn = 0; drawn < PERMUTATIONS && statistic > 0 && extreme <= MAX_EXTREME; drawn += 1) {
    for (let i = order.length - 1; i > 0; i -= 1) {
      const j = Math.floor(random() * (i + 1));
      [order[i], order[j]] = [order[j]!, order[i]!];
    }
    if (bestSplit(order).statistic >= statistic * (1 - ROUNDING)) extreme += 1;
  }
  return statistic > 0 && extreme <= MAX_EXTREME;
}

/**
 * The split at `at` of values[0, end) with the largest mn / (m + n) times the energy distance of its two sides, over
 * all `at` and `end`: a later change does not hide an earlier one. Its statistic is 0 for too few values.
 */
function bestSplit(values: Float64Array): { readonly at: number; readonly statistic: number } {
  const n = values.length;
  // below[at * n + j]: distance of values[j] to values[at, j).
  const below = new Float64Array(n * n);
  // Distances within values[0, end), by `end`.
  const within = new Float64Array(n + 1);
  for (let j = 0; j < n; j += 1) {
    let sum = 0;
    for (let at = j - 1; at >= 0; at -= 1) {
      sum += Math.abs(values[j]! - values[at]!);
      below[at * n + j] = sum;
    }
    within[j + 1] = within[j]! + sum;
  }
  let [best, most] = [0, 0];
  for (let at = MIN_STRETCH; at <= n - MIN_STRETCH; at += 1) {
    const left = within[at]!;
    let right = 0;
    for (let end = at + 1; end <= n; end += 1) {
      right += below[at * n + end - 1]!;
      const size = end - at;
      if (size < MIN_STRETCH) continue;
      const between = within[end]! - left - right;
      const distance = (2 * between) / (at * size) - (2 * left) / (at * (at - 1)) - (2 * right) / (size * (size - 1));
      const statistic = ((at * size) / end) * distance;
      if (statistic > most) [best, most] = [at, statistic];
    }
  }
  return { at: best, statistic: most };
}
