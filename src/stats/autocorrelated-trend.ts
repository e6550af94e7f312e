import tCdf from "@stdlib/stats-base-dists-t-cdf";

/** White noise on top of the slow one, in variances of the slow one. */
const WHITE_SHARES = [0, 1] as const;
/** Relaxation times that are tried: none, then from half a point to this share of the points, each so many times the one before. */
const MAX_RELAXATION = 0.4;
const RELAXATION_FACTOR = 1.3;
/**
 * How slow the noise is taken to be: this quantile of what the points say about it. Averaged over everything they allow, the
 * rare chance of a random walk would drown every leak; at the middle, one healthy AR(1) 0.9 series of 60 points in 50 would pass.
 */
const CAUTION = 0.66;

interface Fit {
  /** Correlation of neighbours in the slow part of the noise. */
  readonly persistence: number;
  /** Logarithm of the restricted likelihood, up to a constant. */
  readonly likelihood: number;
  /** Chance of so steep a rise, or a steeper one, without growth. */
  readonly chance: number;
}

/**
 * Generalised least squares of a line in noise that is AR(1) of unit variance plus `white` times as much white noise, by one
 * pass of the Kalman filter over the points and the two regressors (Harvey 1989, 3.4.2): the filter's prediction errors are
 * independent, so that ordinary least squares on them is the generalised one, with its restricted likelihood.
 */
function fitNoise(y: Float64Array, persistence: number, white: number, rounding: number): Fit {
  const n = y.length;
  const y0 = y[0]!;
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
    const at = (i - (n - 1) / 2) / n - time;
    const rest = y[i]! - y0 - value;
    logDeterminant += Math.log(total);
    s11 += one * one * weight;
    s1t += one * at * weight;
    stt += at * at * weight;
    s1y += one * rest * weight;
    sty += at * rest * weight;
    syy += rest * rest * weight;
    level = persistence * (level + gain * one);
    time = persistence * (time + gain * at);
    value = persistence * (value + gain * rest);
    variance = persistence * persistence * variance * (1 - gain) + (1 - persistence * persistence);
  }
  const determinant = s11 * stt - s1t * s1t;
  const slope = (s11 * sty - s1t * s1y) / determinant;
  const intercept = (stt * s1y - s1t * sty) / determinant;
  const squares = Math.max(0, syy - slope * sty - intercept * s1y) + n * rounding * rounding;
  const standardError = Math.sqrt(((squares / (n - 2)) * s11) / determinant);
  return {
    persistence,
    likelihood: -0.5 * (logDeterminant + Math.log(determinant) + (n - 2) * Math.log(squares)),
    chance: 1 - tCdf(slope / standardError, n - 2),
  };
}

/**
 * Chance that noise without growth rises as steadily as equally spaced points do, where the noise may be slow: how slow is
 * read from the points themselves (at most a few hundred; the work is about forty passes over them).
 * @param rounding smallest standard deviation to believe in, in the unit of y
 * @returns one-sided probability
 */
export function slopePValue(y: Float64Array, rounding: number): number {
  const persistences = [0];
  for (let time = 0.5; time <= MAX_RELAXATION * y.length; time *= RELAXATION_FACTOR) {
    persistences.push(Math.exp(-1 / time));
  }
  const fits = persistences.flatMap((persistence) =>
    (persistence === 0 ? [0] : WHITE_SHARES).map((white) => fitNoise(y, persistence, white, rounding)),
  );
  const top = Math.max(...fits.map(({ likelihood }) => likelihood));
  const weights = fits.map(({ likelihood }) => Math.exp(likelihood - top));
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  let before = 0;
  for (const persistence of persistences) {
    let weight = 0;
    let chance = 0;
    for (const [k, fit] of fits.entries()) {
      if (fit.persistence !== persistence) continue;
      weight += weights[k]!;
      chance += weights[k]! * fit.chance;
    }
    before += weight;
    if (before >= CAUTION * all) return chance / weight;
  }
  return 1;
}

/** Share of the differences that is taken for noise; jumps are among the rest. */
const CALM_SHARE = 0.9;

/** Mean square of the calm differences of points so far apart, around their middle. */
function trimmedMeanSquare(y: Float64Array, lag: number): number {
  const differences = Float64Array.from({ length: y.length - lag }, (_, i) => y[i + lag]! - y[i]!).sort();
  const middle = differences[differences.length >> 1]!;
  const squares = differences.map((difference) => (difference - middle) ** 2).sort();
  const calm = squares.subarray(0, Math.max(1, Math.floor(CALM_SHARE * squares.length)));
  return calm.reduce((sum, square) => sum + square, 0) / calm.length;
}

/**
 * Correlation of the means of neighbouring parts, if the noise is AR(1): what differences of points two apart and one apart
 * say of it (their variances are as 1 + φ to 1), which neither a slope nor a few jumps change.
 * @param parts how many parts the points will be summed up in
 */
export function blockMeanAutocorrelation(y: Float64Array, parts: number): number {
  const one = trimmedMeanSquare(y, 1);
  if (!(one > 0)) return 0;
  const phi = Math.min(0.97, trimmedMeanSquare(y, 2) / one - 1);
  if (!(phi > 0)) return 0;
  const size = y.length / parts;
  const faded = 1 - phi ** size;
  const apart = (phi * faded * faded) / (1 - phi) ** 2;
  const same = (size * (1 + phi)) / (1 - phi) - (2 * phi * faded) / (1 - phi) ** 2;
  return apart / same;
}
