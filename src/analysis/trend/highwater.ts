import { theilSen } from "../../stats/fit.ts";
import type { DriftClass } from "../document.ts";
import { type Bins, mergeBins, sliceBins } from "./bins.ts";
import { teardownStart } from "./warmup.ts";

/**
 * New maxima in the second half from which on chance is an unlikely author: for exchangeable demand their number there is
 * about Poisson(ln 2), so that four or more happen in 0.56 % of healthy runs.
 */
const MIN_LATE_RECORDS = 4;
const MIN_BLOCKS = 12;
const MAX_BLOCKS = 120;

export interface HighwaterDrift {
  readonly class: DriftClass;
  /** Descriptive only, per unit of the axis: a running maximum has no noise to test a slope against. */
  readonly slope: number;
  readonly mde: number | null;
}

/**
 * Class of a running maximum, or of a series that behaves like one, by counting records of its block maxima (raw points
 * would count the autocorrelation of demand as records). Never `leak`: an allocator's slack also grows when nothing leaks.
 */
export function classifyHighwater(all: Bins, change: number): HighwaterDrift {
  const kept = teardownStart(all.low, all.high, change);
  const bins = kept < all.count ? sliceBins(all, 0, kept) : all;
  const blocks = mergeBins(bins, Math.max(1, Math.ceil(bins.count / MAX_BLOCKS)));
  const n = blocks.count;
  if (n < MIN_BLOCKS) return { class: "insufficient", slope: 0, mde: null };
  const half = Math.floor(n / 2);
  const top = new Float64Array(n);
  let max = Number.NEGATIVE_INFINITY;
  let lateRecords = 0;
  for (let i = 0; i < n; i++) {
    const value = blocks.high[i]!;
    if (value > max) {
      if (i >= half && value > max) lateRecords++;
      max = value;
    }
    top[i] = max;
  }
  const late = max - top[half - 1]!;
  const early = top[half - 1]! - top[0]!;
  const slope = theilSen(blocks.x.subarray(half), top.subarray(half));
  const settled = Math.max(...blocks.high.subarray(n - Math.max(2, Math.floor(n / 12))));
  const shape = (): DriftClass => {
    // The counter was reset, or memory was given back: not a running maximum after all.
    if (settled < top[half - 1]! - change) return "shrink";
    if (late > change) return lateRecords >= MIN_LATE_RECORDS ? "rising" : "step";
    return early > change ? "plateau" : "flat";
  };
  return { class: shape(), slope, mde: 2 * change };
}
