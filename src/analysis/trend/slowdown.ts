import { fitHinge, fitLine, fitSpaced } from "../../stats/least-squares.ts";
import { mean } from "../../stats/moments.ts";
import { fitLevelShift } from "./level-shift.ts";

/** Growth like log(1 + k t) over a run of length 1: its rate at the begin is 1 + k times that at the end. */
const LOGARITHMS = [
  3, 3.5, 4.2, 5, 6, 7.1, 8.5, 10, 12, 14, 17, 20, 24, 29, 35, 42, 50, 70, 100, 140, 200, 350, 600,
] as const;
/** Time constants of an exponential warm-up, in shares of the run. */
const WARM_UPS = [0.005, 0.01, 0.015, 0.022, 0.033, 0.05, 0.075, 0.11, 0.16, 0.24, 0.36] as const;
/** Difference of the criterion by which the logarithm must beat a line without a warm-up. */
const STRONG_EVIDENCE = 6;

/** Difference up to which the others may fit better: as much growth is explained without a leak. */
const TOLERATED = 3;

/** Least SSE of a level, a line that rises and an exponential warm-up. */
function warmUpAndLine(y: Float64Array): number {
  const n = y.length;
  const mid = (n - 1) / 2;
  const { sse: line } = fitSpaced(y);
  let best = line;
  const my = mean(y);
  for (const share of WARM_UPS) {
    const warm = Float64Array.from(y, (_, i) => Math.exp(-i / (share * n)));
    const mw = mean(warm);
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
    if (slope > 0 && height < 0) best = Math.min(best, Math.max(0, syy - slope * sty - height * swy));
  }
  return best;
}

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

/**
 * Growth that slows down without an end: a logarithm describes the series better than a line, a line after an
 * exponential warm-up and a line with a jump, by the Bayesian information criterion (Schwarz 1978; three parameters
 * against two, four and four).
 * @param y equally spaced points, the warm-up included
 * @param noise smallest standard deviation to assume, in the unit of y
 * @param evidenceFactor factor of the margin for autocorrelated noise
 * @returns null where another model is as good
 */
export function fitSlowdown(y: Float64Array, noise: number, evidenceFactor: number): Slowdown | null {
  const n = y.length;
  let squares = Number.POSITIVE_INFINITY;
  let best: Slowdown | null = null;
  for (const bend of LOGARITHMS) {
    const x = Float64Array.from(y, (_, i) => Math.log1p((bend * i) / (n - 1)));
    const { slope, sse } = fitLine(x, y);
    if (!(slope > 0) || sse >= squares) continue;
    squares = sse;
    best = { bytes: slope, bend };
  }
  const criterion = (sse: number, parameters: number) =>
    n * Math.log(sse / n + noise * noise) + parameters * Math.log(n);
  const slowing = criterion(squares, 3);
  const isBest =
    slowing < criterion(fitSpaced(y).sse, 2) - STRONG_EVIDENCE * evidenceFactor &&
    slowing <
      TOLERATED + criterion(Math.min(warmUpAndLine(y), fitLevelShift(y, 2)?.sse ?? Number.POSITIVE_INFINITY), 4);
  return isBest ? best : null;
}

/** The same where growth may also have ended: a line and a rest describe it less well. */
export function slowdownOf(y: Float64Array, noise: number, evidenceFactor: number): Slowdown | null {
  const found = fitSlowdown(y, noise, evidenceFactor);
  if (found === null) return null;
  const { sse } = fitLine(
    y.map((_, i) => Math.log1p((found.bend * i) / (y.length - 1))),
    y,
  );
  return sse < rampAndRest(y) ? found : null;
}
