import { fitLine } from "./fit.ts";

/** A repetition counts from this autocorrelation on; white noise of the shortest accepted series stays below it. */
const MIN_CORRELATION = 0.35;
/** At least this many periods must have been seen. */
const MIN_PERIODS = 12;

/**
 * Period of a regularly spaced series in points: the lag with the highest autocorrelation of the linearly detrended values
 * after the first zero crossing; 1 when nothing repeats clearly enough.
 */
export function findPeriod(values: Float64Array): number {
  const n = values.length;
  const longest = Math.floor(n / MIN_PERIODS);
  if (longest < 2) return 1;
  const index = Float64Array.from({ length: n }, (_, i) => i);
  const line = fitLine(index, values);
  const residual = Float64Array.from(values, (value, i) => value - line.intercept - line.slope * i);
  let variance = 0;
  for (const value of residual) variance += value * value;
  if (!(variance > 0)) return 1;
  let crossed = false;
  let best = 1;
  let bestCorrelation = MIN_CORRELATION;
  // Beyond the longest accepted period a higher peak may exist (a multiple of the period); it must not hide the period.
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
