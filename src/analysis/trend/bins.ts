import { medianInPlace } from "../../stats/order-statistics.ts";
import type { OrderedSeries } from "../ordered.ts";

/** Grouped samples bound the work. `low` keeps the envelope below a saw-tooth faster than a bin, `high` every spike. */
export interface Bins {
  readonly count: number;
  /** Mean axis position. */
  readonly x: Float64Array;
  readonly low: Float64Array;
  readonly middle: Float64Array;
  readonly high: Float64Array;
}

/** Divisible by 12 and 24, and fine enough that one of 120 blocks contains eight bins. */
const MAX_BINS = 960;

/** End of each bin (exclusive). Samples of one step stay together. Without steps all bins are equally large. */
function binEnds(series: OrderedSeries): Uint32Array {
  const { x, steps, axis } = series;
  const n = x.length;
  if (axis === "step" && steps !== null && n > steps) {
    const perBin = Math.ceil(steps / MAX_BINS);
    const ends: number[] = [];
    let seen = 1;
    for (let i = 1; i < n; i++) {
      if (x[i] === x[i - 1]) continue;
      if (seen % perBin === 0) ends.push(i);
      seen++;
    }
    ends.push(n);
    return Uint32Array.from(ends);
  }
  const count = Math.min(n, MAX_BINS);
  return Uint32Array.from({ length: count }, (_, k) => Math.floor(((k + 1) * n) / count));
}

/** Bins of samples. */
export function toBins(series: OrderedSeries): Bins {
  const { bytes, x } = series;
  return grouped({ count: x.length, x, low: bytes, middle: bytes, high: bytes }, 0, binEnds(series));
}

/** Bins [from, to). */
export function sliceBins(bins: Bins, from: number, to: number): Bins {
  return {
    count: to - from,
    x: bins.x.subarray(from, to),
    low: bins.low.subarray(from, to),
    middle: bins.middle.subarray(from, to),
    high: bins.high.subarray(from, to),
  };
}

/** Merges every `size` neighbouring bins. Drops the oldest remainder. */
export function mergeBins(bins: Bins, size: number): Bins {
  if (size <= 1) return bins;
  const count = Math.floor(bins.count / size);
  const first = bins.count - count * size;
  return grouped(
    bins,
    first,
    Uint32Array.from({ length: count }, (_, k) => first + (k + 1) * size),
  );
}

/** The stretches that begin at `first` and at each end: lowest low, median middle, highest high. */
function grouped(bins: Bins, first: number, ends: Uint32Array): Bins {
  const count = ends.length;
  const x = new Float64Array(count);
  const low = new Float64Array(count);
  const middle = new Float64Array(count);
  const high = new Float64Array(count);
  let scratch = new Float64Array(64);
  for (let k = 0, from = first; k < count; k++) {
    const to = ends[k]!;
    const size = to - from;
    if (size > scratch.length) scratch = new Float64Array(2 * size);
    let sum = 0;
    let min = Number.POSITIVE_INFINITY;
    let max = Number.NEGATIVE_INFINITY;
    for (let i = from, j = 0; i < to; i++, j++) {
      scratch[j] = bins.middle[i]!;
      // Offsets from the first value keep the sum of large clock values exact.
      sum += bins.x[i]! - bins.x[from]!;
      if (bins.low[i]! < min) min = bins.low[i]!;
      if (bins.high[i]! > max) max = bins.high[i]!;
    }
    x[k] = bins.x[from]! + sum / size;
    low[k] = min;
    high[k] = max;
    middle[k] = min === max ? min : medianInPlace(scratch, 0, size);
    from = to;
  }
  return { count, x, low, middle, high };
}
