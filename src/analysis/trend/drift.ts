import { fitHinge, fitLine, schwarz } from "../../stats/least-squares.ts";
import { theilSen } from "../../stats/theil-sen.ts";
import type { Metric } from "../../telemetry/recording/metrics.ts";
import type { DriftClass } from "../series/document.ts";
import type { Bins } from "./bins.ts";
import { fitLevelShift } from "./level-shift.ts";
import type { Slowdown } from "./slowdown.ts";
import { STRONG_EVIDENCE } from "./trend-models.ts";

/** Trend of a series that can fall. Sizes in bytes, slopes per unit of the axis. */
export interface Drift {
  readonly class: DriftClass;
  readonly slope: number;
  /** Growth of the judged stretch: from where the slope begins to the end of the work. */
  readonly growth: number;
  /** 95 %. */
  readonly interval: readonly [number, number] | null;
  /** Smallest total growth over the observed span that is classified as a leak nine times in ten. */
  readonly mde: number | null;
  /** Whether the slope differs from zero at the 1 % level, one-sided. */
  readonly significant: boolean;
  /** Growth that slows down without an end, over the series after the start of the process; null for any other. */
  readonly slowdown: Slowdown | null;
}

export interface DriftInput {
  readonly bins: Bins;
  readonly metric: Metric;
  /** Smallest material change, bytes. */
  readonly change: number;
  /** Smallest material growth over the observed span, bytes (smaller than `change` under a long horizon). */
  readonly growth: number;
  /** Axis position where the start of the process ends; null when the recording does not contain the start. */
  readonly startupEnd: number | null;
  /** The axis is training steps, of which a bin may contain several. */
  readonly perStep: boolean;
}

/** Distance on the axis between the first and the last bin. */
export const observedSpan = ({ x, count }: Bins): number => x[count - 1]! - x[0]!;

/** Levels are known to this share of the material growth: the smallest standard deviation to assume is it over this. */
export const NEGLIGIBLE = 50;
/** Autocorrelated noise makes steps fit too well: the criterion's margins grow by at most this factor. */
export const MAX_EVIDENCE_FACTOR = 4;
/** Share of the points in which a warm-up may end that no cut was made for. */
const MAX_WARM_UP = 0.3;
/** Growth that speeds up or slows down by less than this factor is the same growth. */
const SAME_RATE = 2;
/** Points after the onset of a hinge. */
const MIN_RISING = 4;

interface Levels {
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Points of the warm-up, which the slope does not describe. */
  readonly cut: number;
  /** Axis position of the begin of a point's part. */
  readonly begin: (point: number) => number;
  /** Axis position of the end of the work. */
  readonly end: number;
  /** Smallest standard deviation of a level. */
  readonly noise: number;
}

/**
 * Levels of the blocks of a series.
 * @param blocks `running` in blocks of `blockSize`, without the oldest remainder
 */
export function levelsOf(
  { running, blocks, blockSize, cut }: { running: Bins; blocks: Bins; blockSize: number; cut: number },
  y: Float64Array,
  noise: number,
): Levels {
  const dropped = running.count - blocks.count * blockSize;
  const begin = (block: number) => running.x[block === 0 ? 0 : dropped + block * blockSize]!;
  return { x: blocks.x, y, cut, begin, end: running.x[running.count - 1]!, noise };
}

/** The growth that the slope after the warm-up amounts to, from there to the end. */
export const growthAfterCut = ({ begin, cut, end }: Levels, slope: number): number => slope * (end - begin(cut));

/** Slope and growth of a series that has levelled off: those of its second half, in which the rise is over. */
export function growthAfterRise(levels: Levels): { readonly slope: number; readonly growth: number } {
  const half = levels.cut + Math.floor((levels.y.length - levels.cut) / 2);
  const slope = theilSen(levels.x.subarray(half), levels.y.subarray(half));
  return { slope, growth: growthAfterCut(levels, slope) };
}

/** Slope and growth of a line beside one jump: those of the line, without the jump. */
export function growthBesideJump(levels: Levels): ReturnType<typeof growthOfRise> | null {
  const { x, y, cut } = levels;
  const shift = fitLevelShift(y.subarray(cut), MIN_RISING, ({ bytes }) => bytes > 0);
  if (shift === null) return null;
  // Points may be unevenly spaced, so the common slope of both sides is one on the axis.
  const [before, after] = [fitLine(x, y, cut, cut + shift.at), fitLine(x, y, cut + shift.at)];
  const slope = (before.slope * before.sxx + after.slope * after.sxx) / (before.sxx + after.sxx);
  return { slope, growth: growthAfterCut(levels, slope), late: false };
}

/**
 * Slope and growth of the stretch in which a series grows. A cut is made with a margin and at most in the middle, so
 * the stretch begins where two lines, one up to there and one from there on, fit best (Quandt 1958, "The estimation of
 * the parameters of a linear regression system obeying two separate regimes"). Where the series rests before it grows,
 * the stretch is that of the hinge: a level, and a line from the onset to the end.
 * @param evidenceFactor factor of the margins for autocorrelated noise
 */
export function growthOfRise(
  { x, y, cut, begin, end, noise }: Levels,
  evidenceFactor: number,
): { readonly slope: number; readonly growth: number; readonly late: boolean } {
  const margin = STRONG_EVIDENCE * evidenceFactor;
  let first = 0;
  let least = schwarz(y.length, fitLine(x, y).sse, 2, noise) - margin;
  for (let at = 1; at <= Math.max(cut, MAX_WARM_UP * y.length); at++) {
    const [before, after] = [fitLine(x, y, 0, at), fitLine(x, y, at)];
    const split = schwarz(y.length, before.sse + after.sse, 5, noise);
    const isSame = before.slope > after.slope / SAME_RATE && before.slope < SAME_RATE * after.slope;
    if (split >= least || isSame) continue;
    least = split;
    first = at;
  }
  const [after, level] = [x.subarray(first), y.subarray(first)];
  const n = after.length;
  const hinge = fitHinge(after, level, 1, n - 1 - MIN_RISING);
  const line = schwarz(n, fitLine(after, level).sse, 2, noise);
  if (hinge !== null && schwarz(n, hinge.sse, 3, noise) < line - margin) {
    return { slope: hinge.slope, growth: hinge.slope * (end - after[hinge.onset]!), late: true };
  }
  const slope = theilSen(after, level);
  return { slope, growth: slope * (end - begin(first)), late: false };
}
