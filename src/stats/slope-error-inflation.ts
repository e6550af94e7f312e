import { fitLine } from "./least-squares.ts";

/** Lag-1 correlation that 24 independent residuals often show. */
const CHANCE_CORRELATION = 0.2;

/**
 * Factor by which autocorrelation increases the standard error of a slope of means of pairs of these points: √((1 + r)
 * / (1 − r)) for AR(1) noise (Bayley and Hammersley 1946, "The effective number of independent observations in an
 * autocorrelated time series"). r is the lag-1 correlation of the pairs' means, from that of the residuals of a fitted
 * line, ρ̂, corrected for its bias −(2 + 4ρ)/n (van Giersbergen 2005, "On the effect of deterministic terms on the bias
 * in stable AR models"). 1 for independent points.
 */
export function slopeErrorInflation(x: Float64Array, y: Float64Array): number {
  const n = y.length;
  const { slope, intercept, sse } = fitLine(x, y);
  if (!(sse > 0)) return 1;
  let product = 0;
  let previous = y[0]! - intercept - slope * x[0]!;
  for (let i = 1; i < n; i++) {
    const rest = y[i]! - intercept - slope * x[i]!;
    product += rest * previous;
    previous = rest;
  }
  const biased = product / sse;
  const correlation = Math.min(0.8, biased + (2 + 4 * Math.max(0, biased)) / n);
  if (correlation <= CHANCE_CORRELATION) return 1;
  // Correlation of the means of neighbouring pairs.
  const lag = (correlation * (1 + correlation)) / 2;
  return Math.sqrt((1 + lag) / (1 - lag));
}
