import { fitSpaced } from "../../stats/least-squares.ts";
import { median } from "../../stats/order-statistics.ts";
import type { Bins } from "./bins.ts";

/** Minimum share of the squared deviations from a line that a shift explains. */
const MIN_EXPLAINED = 0.3;
/** Minimum share of the points on each side of a shift. */
const MIN_SIDE = 0.04;
/** Minimum share of a drop that happens between the points beside it: a rise that ends is not a drop. */
const MIN_ABRUPT = 0.5;

/** A level that changes once, on a line that continues. */
export interface LevelShift {
  /** First point after the shift. */
  readonly at: number;
  /** Negative for a drop. */
  readonly bytes: number;
  /** Rise of the line over all points. */
  readonly rise: number;
  readonly sse: number;
}

/**
 * Fits one slope with one shift of the level by least squares, at every position in constant time: both sides share the
 * slope, and each is centred on its own mean.
 * @param side points that each side has at least
 * @param accept which fits are considered
 */
export function fitLevelShift(
  y: Float64Array,
  side: number,
  accept: (shift: LevelShift) => boolean = () => true,
): LevelShift | null {
  const n = y.length;
  const y0 = y[0] ?? 0;
  const sums = new Float64Array(n + 1);
  const products = new Float64Array(n + 1);
  let squares = 0;
  for (let i = 0; i < n; i++) {
    const value = y[i]! - y0;
    sums[i + 1] = sums[i]! + value;
    products[i + 1] = products[i]! + value * i;
    squares += value * value;
  }
  let best: LevelShift | null = null;
  for (let at = side; at <= n - side; at++) {
    let sxx = 0;
    let sxy = 0;
    let syy = squares;
    const meanOf = (from: number, to: number) => {
      const size = to - from;
      const sum = sums[to]! - sums[from]!;
      sxx += (size * (size * size - 1)) / 12;
      sxy += products[to]! - products[from]! - ((from + to - 1) / 2) * sum;
      syy -= (sum * sum) / size;
      return sum / size;
    };
    const before = meanOf(0, at);
    const after = meanOf(at, n);
    const slope = sxy / sxx;
    const sse = Math.max(0, syy - slope * sxy);
    const shift = { at, bytes: after - before - (slope * n) / 2, rise: slope * (n - 1), sse };
    if ((best === null || sse < best.sse) && accept(shift)) best = shift;
  }
  return best;
}

/** A shift of at least `least` that explains a large share of the deviations from a line; null when there is none. */
export function findLevelShift(y: Float64Array, least: number): LevelShift | null {
  const n = y.length;
  const side = Math.max(3, Math.ceil(MIN_SIDE * n));
  const best = fitLevelShift(y, side);
  if (best === null || !(Math.abs(best.bytes) > least)) return null;
  if (best.sse > (1 - MIN_EXPLAINED) * fitSpaced(y).sse) return null;
  const { at, bytes } = best;
  const fall = median(y.subarray(at - side, at)) - median(y.subarray(at, at + side));
  return bytes < 0 && fall < -MIN_ABRUPT * bytes ? null : best;
}

/** The series without the shift: everything after it moves back. */
export function withoutShift(bins: Bins, { at, bytes }: LevelShift): Bins {
  const move = (values: Float64Array) => values.map((value, i) => (i < at ? value : value - bytes));
  return { count: bins.count, x: bins.x, low: move(bins.low), middle: move(bins.middle), high: move(bins.high) };
}
