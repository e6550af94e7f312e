import { medianInPlace } from "./order-statistics.ts";

/**
 * Theil–Sen slope: the median of (yⱼ − yᵢ) / (xⱼ − xᵢ) over all pairs with xⱼ > xᵢ (Theil 1950, Sen 1968, "Estimates of
 * the regression coefficient based on Kendall's tau"). Its breakdown point is 29 %. The work is quadratic, for at most
 * a few hundred points. 0 where all x are equal.
 */
export function theilSen(x: ArrayLike<number>, y: ArrayLike<number>): number {
  const n = y.length;
  const slopes = new Float64Array((n * (n - 1)) / 2);
  let count = 0;
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      const dx = x[j]! - x[i]!;
      if (dx > 0) slopes[count++] = (y[j]! - y[i]!) / dx;
    }
  }
  return count === 0 ? 0 : medianInPlace(slopes, 0, count);
}
