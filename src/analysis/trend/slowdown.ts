import { fitHinge, fitLine, fitSpaced, schwarz } from "../../stats/least-squares.ts";
import { mean } from "../../stats/moments.ts";
import { fitLevelShift } from "./level-shift.ts";
import { STRONG_EVIDENCE } from "./trend-models.ts";

/** Growth like log(1 + k t) over a run of length 1: its rate at the begin is 1 + k times that at the end. */
const LOGARITHMS = [
  3, 3.5, 4.2, 5, 6, 7.1, 8.5, 10, 12, 14, 17, 20, 24, 29, 35, 42, 50, 70, 100, 140, 200, 350, 600,
] as const;
/** Time constants of an exponential warm-up, in shares of the run. */
const WARM_UPS = [0.005, 0.01, 0.015, 0.022, 0.033, 0.05, 0.075, 0.11, 0.16, 0.24, 0.36] as const;
/** Those of which less than a twelfth of the growth happens in the last ENDED_REST of the run (segments.ts). */
const FADED: readonly number[] = [...WARM_UPS.filter((share) => share < 0.33), 0.33];
/** Ratio of the golden section, and steps that narrow an interval to less than a thousandth. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;
const SECTIONS = 15;
/** Difference up to which the others may fit better: as much growth is explained without a leak. */
const TOLERATED = 3;
/** Parts that the factor for autocorrelated noise is known for: differences add up over as many points as there are. */
const FACTOR_PARTS = 24;
const tolerated = (points: number, evidenceFactor: number): number =>
  TOLERATED * (1 + (evidenceFactor - 1) * Math.max(1, points / FACTOR_PARTS));

/** Least SSE of an exponential approach to a level from below, and to a line that rises, for one time constant. */
function fitWarmUp(y: Float64Array, share: number): { readonly level: number; readonly line: number } {
  const n = y.length;
  const mid = (n - 1) / 2;
  const warm = Float64Array.from(y, (_, i) => Math.exp(-i / (share * n)));
  const [mw, my] = [mean(warm), mean(y)];
  let stt = 0;
  let sww = 0;
  let stw = 0;
  let sty = 0;
  let swy = 0;
  let syy = 0;
  for (let i = 0; i < n; i++) {
    const [t, w, v] = [i - mid, warm[i]! - mw, y[i]! - my];
    stt += t * t;
    sww += w * w;
    stw += t * w;
    sty += t * v;
    swy += w * v;
    syy += v * v;
  }
  const determinant = stt * sww - stw * stw;
  const slope = (sww * sty - stw * swy) / determinant;
  const height = (stt * swy - stw * sty) / determinant;
  return {
    level: swy < 0 ? Math.max(0, syy - (swy * swy) / sww) : Number.POSITIVE_INFINITY,
    line: slope > 0 && height < 0 ? Math.max(0, syy - slope * sty - height * swy) : Number.POSITIVE_INFINITY,
  };
}

/** Least value over ascending places, and between those beside the best one (golden section). */
function least(of: (at: number) => number, places: readonly number[]): number {
  const values = places.map(of);
  const best = values.indexOf(Math.min(...values));
  let [low, high] = [places[Math.max(0, best - 1)]!, places[Math.min(places.length - 1, best + 1)]!];
  for (let k = 0; k < SECTIONS; k++) {
    const [left, right] = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)];
    if (of(left) < of(right)) high = right;
    else low = left;
  }
  return Math.min(values[best]!, of((low + high) / 2));
}

/** Least SSE of a level, a line that rises and an exponential warm-up. */
const warmUpAndLine = (y: Float64Array): number =>
  Math.min(
    fitSpaced(y).sse,
    least((share) => fitWarmUp(y, share).line, WARM_UPS),
  );

/**
 * Growth that slows down for as long as it was observed: b ln(1 + k t), with t the time since its begin in lengths of
 * the stretch.
 */
export interface Slowdown {
  /** b, bytes. */
  readonly bytes: number;
  /** k; the rate at the begin is 1 + k times that at the end. */
  readonly bend: number;
}

/** Growth since its begin after a number of lengths of the stretch, bytes. */
export const grownAfter = ({ bytes, bend }: Slowdown, lengths: number): number => bytes * Math.log1p(bend * lengths);

/** Lengths of the stretch from its end until it has grown by so much more; infinite where no number is so large. */
export const lengthsUntil = ({ bytes, bend }: Slowdown, more: number): number =>
  ((1 + bend) * Math.expm1(more / bytes)) / bend;

/** Rate at the end of the stretch, bytes in its length. */
export const rateAtEnd = ({ bytes, bend }: Slowdown): number => (bytes * bend) / (1 + bend);

/** Least SSE of a line that rises and then rests. */
function rampAndRest(y: Float64Array): number {
  const n = y.length;
  const backwards = y.map((_, i) => -y[n - 1 - i]!);
  const hinge = fitHinge(
    y.map((_, i) => i),
    backwards,
  );
  return hinge?.sse ?? Number.POSITIVE_INFINITY;
}

type LogarithmFit = Slowdown & { readonly sse: number };

/** The logarithm that fits best and rises. */
function bestLogarithm(y: Float64Array): LogarithmFit | null {
  let best: LogarithmFit | null = null;
  for (const bend of LOGARITHMS) {
    const x = Float64Array.from(y, (_, i) => Math.log1p((bend * i) / (y.length - 1)));
    const { slope, sse } = fitLine(x, y);
    if (slope > 0 && sse < (best?.sse ?? Number.POSITIVE_INFINITY)) best = { bytes: slope, bend, sse };
  }
  return best;
}

/**
 * Growth that slows down without an end: a logarithm describes the series better than a line, a line after an
 * exponential warm-up and a line with a jump, by the Bayesian information criterion (Schwarz 1978; three parameters
 * against two, four and four).
 * @param y equally spaced points, the warm-up included
 * @param noise smallest standard deviation to assume, in the unit of y
 * @param evidenceFactor factor of the margins for autocorrelated noise
 * @returns null where another model is as good
 */
export function fitSlowdown(y: Float64Array, noise: number, evidenceFactor: number): LogarithmFit | null {
  const n = y.length;
  const best = bestLogarithm(y);
  if (best === null) return null;
  const criterion = (sse: number, parameters: number) => schwarz(n, sse, parameters, noise);
  const slowing = criterion(best.sse, 3);
  const isBest =
    slowing < criterion(fitSpaced(y).sse, 2) - STRONG_EVIDENCE * evidenceFactor &&
    slowing <
      tolerated(n, evidenceFactor) +
        criterion(Math.min(warmUpAndLine(y), fitLevelShift(y, 2)?.sse ?? Number.POSITIVE_INFINITY), 4);
  return isBest ? best : null;
}

/**
 * A warm-up that has come to its end: an exponential approach to a level describes the series better than one to a line
 * that rises, and much better than growth that slows down without an end.
 * @param y equally spaced points, the warm-up included
 * @param noise smallest standard deviation to assume, in the unit of y
 * @param evidenceFactor factor of the margin for autocorrelated noise
 */
export function fadesOut(y: Float64Array, noise: number, evidenceFactor: number): boolean {
  const n = y.length;
  const criterion = (sse: number, parameters: number) => schwarz(n, sse, parameters, noise);
  const fading = criterion(
    least((share) => fitWarmUp(y, share).level, FADED),
    3,
  );
  const slowing = bestLogarithm(y);
  return (
    fading < criterion(warmUpAndLine(y), 4) + tolerated(n, evidenceFactor) &&
    (slowing === null || fading < criterion(slowing.sse, 3) - STRONG_EVIDENCE)
  );
}

/** The same where growth may also have ended: a line and a rest describe it less well. */
export function slowdownOf(y: Float64Array, noise: number, evidenceFactor: number): Slowdown | null {
  const found = fitSlowdown(y, noise, evidenceFactor);
  return found !== null && found.sse < rampAndRest(y) ? { bytes: found.bytes, bend: found.bend } : null;
}
