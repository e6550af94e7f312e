import tQuantile from "@stdlib/stats-base-dists-t-quantile";
import { median } from "simple-statistics";

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** 95 % interval of the ratio of the geometric means of pairs: Student's t on the logarithms of the pairs' ratios. */
export function ratioInterval(pairs: readonly (readonly [number, number])[]): Interval & { readonly ratio: number } {
  const logs = pairs.map(([over, under]) => Math.log(over / under));
  const n = logs.length;
  const mean = logs.reduce((sum, log) => sum + log, 0) / n;
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (n - 1);
  const half = tQuantile(0.975, n - 1) * Math.sqrt(variance / n);
  return { ratio: Math.exp(mean), low: Math.exp(mean - half), high: Math.exp(mean + half) };
}

/**
 * 95 % interval of the median of differences, by the order statistics that a sign test leaves: no assumption of their
 * distribution, which on a busy machine has a long tail.
 */
export function medianInterval(differences: readonly number[]): Interval & { readonly median: number } {
  const sorted = [...differences].sort((a, b) => a - b);
  const n = sorted.length;
  const reach = Math.floor(n / 2 - 0.98 * Math.sqrt(n));
  const at = Math.max(0, reach);
  return { median: median(sorted), low: sorted[at]!, high: sorted[n - 1 - at]! };
}
