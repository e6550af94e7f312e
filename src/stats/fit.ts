import tQuantile from "@stdlib/stats-base-dists-t-quantile";
import { medianInPlace } from "./order-statistics.ts";

/** A straight line fitted by least squares. */
export interface LineFit {
  readonly slope: number;
  readonly intercept: number;
  /** Sum of squared residuals. */
  readonly sse: number;
  /** Sum of squared deviations of x from its mean. */
  readonly sxx: number;
}

/** Least squares over [from, to). A zero span of x gives slope 0. */
export function fitLine(x: ArrayLike<number>, y: ArrayLike<number>, from = 0, to = y.length): LineFit {
  const n = to - from;
  const x0 = x[from] ?? 0;
  const y0 = y[from] ?? 0;
  let sx = 0;
  let sy = 0;
  for (let i = from; i < to; i++) {
    sx += x[i]! - x0;
    sy += y[i]! - y0;
  }
  const mx = sx / n;
  const my = sy / n;
  let sxx = 0;
  let sxy = 0;
  let syy = 0;
  for (let i = from; i < to; i++) {
    const dx = x[i]! - x0 - mx;
    const dy = y[i]! - y0 - my;
    sxx += dx * dx;
    sxy += dx * dy;
    syy += dy * dy;
  }
  const slope = sxx > 0 ? sxy / sxx : 0;
  return { slope, intercept: y0 + my - slope * (x0 + mx), sse: Math.max(0, syy - slope * sxy), sxx };
}

/**
 * Theil–Sen: the median of the slopes between all pairs of points with different x. Up to 29 % of the points may be
 * anything. For at most a few hundred points (the work is quadratic); 0 when no pair has a span.
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

/** Quantiles by degrees of freedom and probability: a handful in all, asked for with every series. */
const quantiles = new Map<number, Map<number, number>>();

/** Student's t quantile. */
export function studentQuantile(probability: number, degrees: number): number {
  let known = quantiles.get(degrees);
  if (known === undefined) {
    known = new Map();
    quantiles.set(degrees, known);
  }
  let quantile = known.get(probability);
  if (quantile === undefined) {
    quantile = tQuantile(probability, degrees);
    known.set(probability, quantile);
  }
  return quantile;
}
