import { copyOf, median, medianInPlace } from "./order-statistics.ts";

/**
 * Median absolute deviation, MAD = 1.4826 · median |xᵢ − median(x)| (Hampel 1974, "The influence curve and its role in
 * robust estimation"). The factor 1/Φ⁻¹(3/4) makes it estimate the standard deviation of a normal distribution.
 */
export function normalMad(values: ArrayLike<number>): number {
  const distances = copyOf(values);
  const centre = median(values);
  for (let i = 0; i < distances.length; i++) distances[i] = Math.abs(distances[i]! - centre);
  return 1.4826 * medianInPlace(distances);
}
