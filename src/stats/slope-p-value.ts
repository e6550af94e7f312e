import tCdf from "@stdlib/stats-base-dists-t-cdf";

/** Variances of the white noise that are tried, in variances of the AR(1) part. */
const WHITE_VARIANCES = [0, 1] as const;
/** Relaxation times −1/ln φ that are tried: 0, then a geometric grid from half a point to the length of the series. */
const RELAXATION_FACTOR = 1.3;
/**
 * Prior of the relaxation time: even in its logarithm up to this number of points or this share of them, whichever is
 * larger, and then falling with this power. Noise that wanders as slowly as the series is long cannot be distinguished
 * from growth, so without the fall it would drown every leak. In few points even noise of a few points can wander so.
 */
const USUAL_RELAXATION = { points: 16, share: 1 / 16 } as const;
const PRIOR_POWER = 2;
/** Halvings of the interval in which a critical growth is searched. */
const BISECTIONS = 12;

interface Fit {
  /** Logarithm of the restricted likelihood, up to a constant. */
  readonly likelihood: number;
  /** One-sided p-value of the slope. */
  readonly pValue: number;
  /** Standard error of the growth over all points. */
  readonly standardError: number;
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
    likelihood: -0.5 * (logDeterminant + Math.log(determinant) + (n - 2) * Math.log(squares)),
    pValue: 1 - tCdf(slope / standardError, n - 2),
    standardError: (standardError * (n - 1)) / n,
  };
}

/** A noise model with its weight, likelihood times prior. */
interface Weighted extends Fit {
  readonly weight: number;
}

/** Noise models of a grid, the most likely one with a weight of 1. */
function fitAll(y: Float64Array, rounding: number, onset: number): readonly Weighted[] {
  const usual = Math.max(USUAL_RELAXATION.points, USUAL_RELAXATION.share * y.length);
  const fits = [fitNoise(y, onset, 0, 0, rounding)];
  for (let time = 0.5; time <= 2 * y.length; time *= RELAXATION_FACTOR) {
    const prior = -PRIOR_POWER * Math.log(Math.max(1, time / usual));
    for (const white of WHITE_VARIANCES) {
      const fit = fitNoise(y, onset, Math.exp(-1 / time), white, rounding);
      fits.push({ ...fit, likelihood: fit.likelihood + prior });
    }
  }
  const top = Math.max(...fits.map(({ likelihood }) => likelihood));
  return fits.map((fit) => ({ ...fit, weight: Math.exp(fit.likelihood - top) }));
}

const weightedMean = (fits: readonly Weighted[], of: (fit: Weighted) => number): number => {
  let all = 0;
  let sum = 0;
  for (const fit of fits) {
    all += fit.weight;
    sum += fit.weight * of(fit);
  }
  return sum / all;
};

export interface SlopeTest {
  readonly pValue: number;
  /** Of the growth over all points, in the unit of y. */
  readonly standardError: number;
  /** Least growth over all points that would be significant at a level. */
  readonly critical: (level: number) => number;
}

/**
 * One-sided test of a rise in equally spaced points whose noise may be autocorrelated: the probability that AR(1) plus
 * white noise without a trend gives a slope at least as steep, from the point `onset` on. The noise is estimated from
 * the points: the p-value is the mean over a grid of noise models, weighted by likelihood and prior (Gelman, Meng and
 * Stern 1996, "Posterior predictive assessment of model fitness via realized discrepancies"). The work is about forty
 * passes over at most a few hundred points.
 * @param rounding smallest standard deviation to assume, in the unit of y
 */
export function testSlope(y: Float64Array, rounding: number, onset = 0): SlopeTest {
  const fits = fitAll(y, rounding, onset);
  const degrees = y.length - 2;
  const standardError = Math.exp(weightedMean(fits, (fit) => Math.log(fit.standardError)));
  const chance = (growth: number) => weightedMean(fits, (fit) => 1 - tCdf(growth / fit.standardError, degrees));
  return {
    pValue: weightedMean(fits, ({ pValue }) => pValue),
    standardError,
    critical: (level) => {
      let [low, high] = [0, standardError];
      while (chance(high) > level) high *= 2;
      for (let k = 0; k < BISECTIONS; k++) {
        const middle = (low + high) / 2;
        if (chance(middle) > level) low = middle;
        else high = middle;
      }
      return high;
    },
  };
}

/** The p-value of {@link testSlope} alone. */
export const slopePValue = (y: Float64Array, rounding: number, onset = 0): number =>
  testSlope(y, rounding, onset).pValue;
