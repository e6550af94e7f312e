import { theilSen } from "../../stats/theil-sen.ts";
import type { DriftClass } from "../series/document.ts";
import { type Bins, mergeBins, sliceBins } from "./bins.ts";
import { growthAfterCut, growthOfRise, levelsOf, MAX_EVIDENCE_FACTOR, NEGLIGIBLE } from "./drift.ts";
import { teardownStart } from "./teardown.ts";

/**
 * New maxima in the second half from which on chance is unlikely: for exchangeable demand their number there is about
 * Poisson(ln 2), so four or more happen in 0.56 % of healthy runs (Rényi 1962 on records).
 */
const MIN_LATE_RECORDS = 4;
const MIN_BLOCKS = 12;
const MAX_BLOCKS = 120;

export interface HighwaterDrift {
  readonly class: DriftClass;
  /** Descriptive only, per unit of the axis: a running maximum has no noise against which a slope could be tested. */
  readonly slope: number;
  /** Growth of the stretch with that slope. */
  readonly growth: number;
  readonly mde: number | null;
}

/**
 * Class of a running maximum, or of a series that behaves like one, by the number of records of its block maxima (with
 * raw points the autocorrelation of demand would count as records). Never `leak`: an allocator's slack also grows
 * without a leak.
 */
export function classifyHighwater(all: Bins, change: number): HighwaterDrift {
  const bins = sliceBins(all, 0, teardownStart(all, change));
  const blockSize = Math.max(1, Math.ceil(bins.count / MAX_BLOCKS));
  const blocks = mergeBins(bins, blockSize);
  const n = blocks.count;
  if (n < MIN_BLOCKS) return { class: "insufficient", slope: 0, growth: 0, mde: null };
  const half = Math.floor(n / 2);
  const top = new Float64Array(n);
  let max = Number.NEGATIVE_INFINITY;
  let lateRecords = 0;
  for (let i = 0; i < n; i++) {
    const value = blocks.high[i]!;
    if (value > max) {
      if (i >= half) lateRecords++;
      max = value;
    }
    top[i] = max;
  }
  const late = max - top[half - 1]!;
  const early = top[half - 1]! - top[0]!;
  const slope = theilSen(blocks.x.subarray(half), top.subarray(half));
  const settled = Math.max(...blocks.high.subarray(n - Math.max(2, Math.floor(n / 12))));
  const shape = (): DriftClass => {
    // The counter was reset or memory was released: not a running maximum.
    if (settled < top[half - 1]! - change) return "shrink";
    if (late > change) return lateRecords >= MIN_LATE_RECORDS ? "rising" : "step";
    return early > change ? "plateau" : "flat";
  };
  const found = shape();
  const levels = levelsOf({ running: bins, blocks, blockSize, cut: half }, top, change / NEGLIGIBLE);
  if (found !== "rising") return { class: found, slope, growth: growthAfterCut(levels, slope), mde: 2 * change };
  const { slope: steady, growth } = growthOfRise(levels, MAX_EVIDENCE_FACTOR);
  return { class: found, slope: steady, growth, mde: 2 * change };
}
