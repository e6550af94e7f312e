import { studentQuantile } from "./student-t.ts";

/** y = a + b · x^k for one exponent, by weighted least squares; `a` and `b` are not negative. */
interface Curve {
  readonly a: number;
  readonly b: number;
  readonly k: number;
  /** Sum of squared relative residuals. */
  readonly sse: number;
}

/** y = a + b · x^k with a 95 % interval of the exponent. */
export interface PowerLaw extends Curve {
  readonly low: number;
  readonly high: number;
  /** Every curve within the interval, by ascending exponent. */
  readonly curves: readonly Curve[];
  /** Standard deviation of a relative residual. */
  readonly noise: number;
  /** 97.5 % quantile of Student's t for the points. */
  readonly quantile: number;
}

/** Three parameters leave two degrees of freedom. */
export const MIN_POINTS = 5;

/**
 * Memory is linear in a batch and at most quadratic in a sequence: one of these is taken where the points do not
 * exclude it. A free exponent follows their noise, which a prediction beyond them multiplies: three times beyond five
 * points with 3 % noise the median error of a linear law is 3 % instead of 12 %, of a quadratic one 1 % instead of 3 %.
 * Of an exponent of 1.3 it is 36 % instead of 7 % there; with 1 % noise 3 % as before.
 */
const USUAL_EXPONENTS = [1, 2];

const MIN_EXPONENT = 0.1;
const MAX_EXPONENT = 6;
const STEPS = 1200;
/** A peak is not known more exactly than this, relative: pages, and the runtime's own start. */
const MIN_NOISE = 1e-3;

/** The best curve of an exponent, by relative residuals: noise of a peak grows with it. */
function curveOf(x: readonly number[], y: readonly number[], k: number): Curve {
  let [s, sp, spp, sy, spy] = [0, 0, 0, 0, 0];
  // Powers are divided by the largest, so that their squares stay exact.
  const scale = Math.max(...x) ** k;
  const power = x.map((value) => value ** k / scale);
  y.forEach((value, i) => {
    const weight = 1 / (value * value);
    const p = power[i]!;
    s += weight;
    sp += weight * p;
    spp += weight * p * p;
    sy += weight * value;
    spy += weight * p * value;
  });
  const determinant = s * spp - sp * sp;
  let b = determinant > 0 ? (s * spy - sp * sy) / determinant : 0;
  let a = (sy - b * sp) / s;
  if (b < 0) [a, b] = [sy / s, 0];
  else if (a < 0) [a, b] = [0, spy / spp];
  const sse = y.reduce((sum, value, i) => sum + ((a + b * power[i]! - value) / value) ** 2, 0);
  return { a, b: b / scale, k, sse };
}

/**
 * Least squares over all exponents from 0.1 to 6, or the exponent of {@link USUAL_EXPONENTS} that fits best. The
 * interval of the exponent is that of its profile: the exponents whose sum of squares is within t² / (n − 3) of the
 * least (Bates and Watts 1988, "Nonlinear Regression Analysis", section 6.1).
 * @param x positive, at least {@link MIN_POINTS} different values  @param y positive
 * @returns null for fewer values, or where y does not rise with x
 */
export function fitPowerLaw(x: readonly number[], y: readonly number[]): PowerLaw | null {
  const usable = (values: readonly number[]) => values.every((value) => value > 0 && Number.isFinite(value));
  if (new Set(x).size < MIN_POINTS || !usable(x) || !usable(y)) return null;
  const width = (MAX_EXPONENT - MIN_EXPONENT) / STEPS;
  const all = Array.from({ length: STEPS + 1 }, (_, i) => curveOf(x, y, MIN_EXPONENT + i * width));
  const best = all.reduce((least, one) => (one.sse < least.sse ? one : least));
  if (best.b === 0) return null;
  const degrees = x.length - 3;
  const noise = Math.max(MIN_NOISE, Math.sqrt(best.sse / degrees));
  const quantile = studentQuantile(0.975, degrees);
  const tolerated = best.sse + (quantile * noise) ** 2;
  const curves = all.filter(({ sse, b }) => b > 0 && sse <= tolerated);
  const [usual] = USUAL_EXPONENTS.map((k) => curveOf(x, y, k))
    .filter(({ sse, b }) => b > 0 && sse <= tolerated)
    .sort((one, other) => one.sse - other.sse);
  return {
    ...(usual ?? best),
    low: curves[0]?.k ?? best.k,
    high: curves.at(-1)?.k ?? best.k,
    curves,
    noise,
    quantile,
  };
}

/** The largest x whose y stays below a limit, with a 95 % interval of curve and noise; null where none does. */
export function largestWithin(
  law: PowerLaw,
  limit: number,
): { readonly x: number; readonly low: number; readonly high: number } | null {
  const at = ({ a, b, k }: Curve, y: number) => (y > a ? ((y - a) / b) ** (1 / k) : 0);
  const x = at(law, limit);
  if (!(x > 0)) return null;
  const spread = law.quantile * law.noise;
  const low = law.curves.map((curve) => at(curve, limit * (1 - spread)));
  const high = law.curves.map((curve) => at(curve, limit * (1 + spread)));
  return { x, low: Math.min(...low), high: Math.max(...high) };
}
