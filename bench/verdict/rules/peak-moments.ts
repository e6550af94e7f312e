/** Moments of these rules, written out here so that the reference rules share no code with the product. */

/** Mean; NaN for none. */
export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Standard deviation with n - `freedom` below; NaN where that is not positive. */
export function deviation(values: readonly number[], freedom: 0 | 1): number {
  const rest = values.length - freedom;
  const centre = meanOf(values);
  return rest > 0 ? Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / rest) : Number.NaN;
}

/** Quantile by linear interpolation between the order statistics at (n - 1) q (Hyndman and Fan's type 7). */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = q * (sorted.length - 1);
  const below = sorted[Math.floor(rank)] ?? Number.NaN;
  const above = sorted[Math.ceil(rank)] ?? Number.NaN;
  return below + (above - below) * (rank - Math.floor(rank));
}
