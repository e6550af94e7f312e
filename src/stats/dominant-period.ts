import { detrended } from "./least-squares.ts";

/** Minimum autocorrelation, below which white noise of the shortest series that is judged stays, and periods. */
const MIN_CORRELATION = 0.35;
const MIN_PERIODS = 12;

/**
 * Period of a regularly spaced series in points: the lag of the highest peak of the sample autocorrelation function of
 * the linearly detrended values after its first zero crossing (Box and Jenkins 1970, chapter 2). 1 when no period is
 * clear enough.
 */
export function findPeriod(values: Float64Array): number {
  const n = values.length;
  const longest = Math.floor(n / MIN_PERIODS);
  if (longest < 2) return 1;
  const residual = detrended(values);
  let variance = 0;
  for (const value of residual) variance += value * value;
  if (!(variance > 0)) return 1;
  let crossed = false;
  let best = 1;
  let bestCorrelation = MIN_CORRELATION;
  // A higher peak beyond the longest accepted period (a multiple of the period) must not hide the period.
  for (let lag = 1; lag <= longest; lag++) {
    let product = 0;
    for (let i = lag; i < n; i++) product += residual[i]! * residual[i - lag]!;
    const correlation = product / variance;
    if (correlation <= 0) crossed = true;
    if (crossed && correlation > bestCorrelation) {
      bestCorrelation = correlation;
      best = lag;
    }
  }
  return best;
}
