import tCdf from "@stdlib/stats-base-dists-t-cdf";

/** Variances of the white noise that are tried, in variances of the AR(1) part. */
const WHITE_VARIANCES = [0, 1] as const;
/** Relaxation times −1/ln φ that are tried: 0, then a geometric grid from half a point to this share of the points. */
const MAX_RELAXATION = 0.4;
const RELAXATION_FACTOR = 1.3;
/**
 * Quantile of φ, weighted by likelihood, at which the p-value is taken. With the mean over all φ the small probability
 * of a random walk would drown every leak. With the median, one healthy AR(1) 0.9 series of 60 points in 50 would be
 * significant.
 */
const PHI_QUANTILE = 0.66;
/** Points from which that quantile is used. Fewer hardly restrict φ, and the quantile rises towards 1. */
const PHI_POINTS = 120;

interface Fit {
  /** φ of the AR(1) part of the noise. */
  readonly phi: number;
  /** Logarithm of the restricted likelihood, up to a constant. */
  readonly likelihood: number;
  /** One-sided p-value of the slope. */
  readonly pValue: number;
}

/**
 * Generalised least squares of a line in AR(1) noise of unit variance plus white noise of variance `white`, by one pass
 * of a Kalman filter over the points and the two regressors (Harvey 1989, "Forecasting, structural time series models
 * and the Kalman filter", 3.4.2). The filter's prediction errors are independent, so ordinary least squares on them is
 * the generalised fit, with its restricted likelihood (REML).
 */
function fitNoise(y: Float64Array, onset: number, phi: number, white: number, rounding: number): Fit {
  const n = y.length;
  const y0 = y[0]!;
  const middle = (n - 1) / 2;
  let variance = 1;
  let level = 0;
  let time = 0;
  let value = 0;
  let logDeterminant = 0;
  let s11 = 0;
  let s1t = 0;
  let stt = 0;
  let s1y = 0;
  let sty = 0;
  let syy = 0;
  for (let i = 0; i < n; i++) {
    const total = variance + white;
    const weight = 1 / total;
    const gain = variance * weight;
    const one = 1 - level;
    const at = Math.max(i - middle, onset - middle) / n - time;
    const rest = y[i]! - y0 - value;
    logDeterminant += Math.log(total);
    s11 += one * one * weight;
    s1t += one * at * weight;
    stt += at * at * weight;
    s1y += one * rest * weight;
    sty += at * rest * weight;
    syy += rest * rest * weight;
    level = phi * (level + gain * one);
    time = phi * (time + gain * at);
    value = phi * (value + gain * rest);
    variance = phi * phi * variance * (1 - gain) + (1 - phi * phi);
  }
  const determinant = s11 * stt - s1t * s1t;
  const slope = (s11 * sty - s1t * s1y) / determinant;
  const intercept = (stt * s1y - s1t * sty) / determinant;
  const squares = Math.max(0, syy - slope * sty - intercept * s1y) + n * rounding * rounding;
  const standardError = Math.sqrt(((squares / (n - 2)) * s11) / determinant);
  return {
    phi,
    likelihood: -0.5 * (logDeterminant + Math.log(determinant) + (n - 2) * Math.log(squares)),
    pValue: 1 - tCdf(slope / standardError, n - 2),
  };
}

/**
 * One-sided p-value of a rise in equally spaced points whose noise may be autocorrelated: the probability that AR(1)
 * plus white noise without a trend gives a slope at least as steep, from the point `onset` on. The noise model is
 * estimated from the points. φ is taken at a quantile of its profile over a grid (see {@link PHI_QUANTILE} and
 * {@link PHI_POINTS}), and the p-values at that φ are averaged by likelihood. The work is about forty passes over at
 * most a few hundred points.
 * @param rounding smallest standard deviation to assume, in the unit of y
 */
export function slopePValue(y: Float64Array, rounding: number, onset = 0): number {
  const phis = [0];
  for (let time = 0.5; time <= MAX_RELAXATION * y.length; time *= RELAXATION_FACTOR) phis.push(Math.exp(-1 / time));
  const fits = phis.flatMap((phi) =>
    (phi === 0 ? [0] : WHITE_VARIANCES).map((white) => fitNoise(y, onset, phi, white, rounding)),
  );
  const top = Math.max(...fits.map(({ likelihood }) => likelihood));
  const weights = fits.map(({ likelihood }) => Math.exp(likelihood - top));
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  const quantile = 1 - (1 - PHI_QUANTILE) * Math.min(1, y.length / PHI_POINTS);
  let before = 0;
  for (const phi of phis) {
    let weight = 0;
    let pValue = 0;
    for (const [k, fit] of fits.entries()) {
      if (fit.phi !== phi) continue;
      weight += weights[k]!;
      pValue += weights[k]! * fit.pValue;
    }
    before += weight;
    if (before >= quantile * all) return pValue / weight;
  }
  return 1;
}
