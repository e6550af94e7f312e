import { medianInPlace, select } from "../../stats/order-statistics.ts";
import type { OrderedSeries } from "../series/ordered.ts";

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

/** How the samples of an axis form bins: what all series on it have in common. */
interface Layout {
  /** Number of equally wide bins; null where bins have equally many samples. */
  readonly wide: number | null;
  /** End of each bin, exclusive. */
  readonly ends: Uint32Array;
  readonly centers: Float64Array;
}

/** The metrics of a table share its axis, and an axis comes from one record. */
const layouts = new WeakMap<Float64Array, Layout>();

function layoutOf({ x, steps, axis, thinned }: OrderedSeries): Layout {
  const known = layouts.get(x);
  if (known !== undefined) return known;
  const ends = binEnds(x, axis === "step" ? steps : null);
  const several = thinned && x.length >= THINNED_SAMPLES * MIN_EVEN_BINS && x[x.length - 1]! > x[0]!;
  const wide = several || unevenness(x) > MAX_UNEVENNESS ? evenCount(x, several ? THINNED_SAMPLES : 1) : null;
  const layout = { wide, ends, centers: binCenters(x, 0, ends) };
  layouts.set(x, layout);
  return layout;
}

/** Mean position of the samples of each bin; the first begins at `first`. */
function binCenters(x: Float64Array, first: number, ends: Uint32Array): Float64Array {
  const centers = new Float64Array(ends.length);
  for (let k = 0, from = first; k < ends.length; k++) {
    const to = ends[k]!;
    const start = x[from]!;
    let sum = 0;
    // Offsets from the first value keep the sum of large clock values exact.
    for (let i = from; i < to; i++) sum += x[i]! - start;
    centers[k] = start + sum / (to - from);
    from = to;
  }
  return centers;
}

/** End of each bin (exclusive). Samples of one step stay together. Without steps all bins are equally large. */
function binEnds(x: Float64Array, steps: number | null): Uint32Array {
  const n = x.length;
  if (steps !== null && n > steps) {
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
  // Bins of one and two samples in turn would bend a cycle of a few samples.
  const perBin = Math.ceil(n / MAX_BINS);
  return Uint32Array.from({ length: Math.ceil(n / perBin) }, (_, k) => Math.min(n, (k + 1) * perBin));
}

/** Bins of samples: of equally many, or equally wide where the samples lie unevenly along the axis. */
export function toBins(series: OrderedSeries): Bins {
  const { bytes, x } = series;
  const samples = { count: x.length, x, low: bytes, middle: bytes, high: bytes };
  const { wide, ends, centers } = layoutOf(series);
  return wide !== null ? evenBins(samples, wide) : grouped(samples, 0, ends, centers);
}

/**
 * Trends are fitted over the number of a bin, so a rate of sampling that changes in a run (a budget, a busy machine)
 * would bend a straight line. Above this distance of the samples from an even spread, a share of the axis, bins are
 * equally wide. Of 2,823 simulated leaks above it 17 % read as `rising` with bins of equally many samples, and none of
 * 177 below it.
 */
const MAX_UNEVENNESS = 0.05;
/** A bin is as wide as nearly all gaps between samples are, so that few are empty. */
const WIDTH_QUANTILE = 0.9;
/**
 * ... and the smallest number of samples in nearly all bins of a thinned record. They are extremes of short windows,
 * so that the middle of few of them is any place in a tooth. In an hour of a thinned record 97 % of leaks of 30 KiB/s
 * below teeth of 1 to 45 s are found, and in that of the whole one 94 % (`bench/long`).
 */
const THINNED_SAMPLES = 24;
/** Fewer bins show no shape. */
const MIN_EVEN_BINS = 48;
/** Of more samples every bin contains some, unless the sampler stood still. */
const MANY_SAMPLES = 16 * MAX_BINS;

/** Largest distance between the distribution of the samples along the axis and an even one (Kolmogorov's). */
function unevenness(x: Float64Array): number {
  const n = x.length;
  const from = x[0] ?? 0;
  const span = (x[n - 1] ?? 0) - from;
  if (n < 3 || !(span > 0)) return 0;
  let most = 0;
  for (let i = 0; i < n; i++) {
    // Samples of one step count as one place.
    if (x[i] === x[i + 1] && i > 0 && x[i] === x[i - 1]) continue;
    most = Math.max(most, Math.abs((x[i]! - from) / span - i / (n - 1)));
  }
  return most;
}

/** Equally wide bins; a value where no sample lies is interpolated between its neighbours. */
function evenBins({ count: n, x, middle }: Bins, count: number): Bins {
  const from = x[0]!;
  const span = x[n - 1]! - from;
  const center = (k: number): number => from + ((k + 0.5) * span) / count;
  const ends = new Uint32Array(count);
  for (let k = 0, i = 0; k < count; k++) {
    const end = k === count - 1 ? Number.POSITIVE_INFINITY : from + ((k + 1) * span) / count;
    while (i < n && x[i]! < end) i++;
    ends[k] = i;
  }
  const bins = grouped({ count: n, x, low: middle, middle, high: middle }, 0, ends);
  for (let k = 0, before = 0; k < count; k++) {
    const inside = ends[k]! - before;
    // The median of several lies near the center; one or two may lie anywhere in the bin.
    if (inside < 3) {
      const value = interpolated(x, middle, center(k), Math.max(0, Math.min(before, n - 1)));
      bins.middle[k] = value;
      bins.low[k] = inside === 0 ? value : Math.min(bins.low[k]!, value);
      bins.high[k] = inside === 0 ? value : Math.max(bins.high[k]!, value);
    }
    bins.x[k] = center(k);
    before = ends[k]!;
  }
  return bins;
}

/** Distances along the axis from each sample to one some samples later, where they differ. */
const gapsOver = (x: Float64Array, samples: number): Float64Array =>
  x
    .subarray(samples)
    .map((at, i) => at - x[i]!)
    .filter((gap) => gap > 0);

/** Number of equally wide bins, of which nearly all contain so many samples. */
function evenCount(x: Float64Array, samples: number): number {
  if (samples === 1 && x.length > MANY_SAMPLES) return MAX_BINS;
  const gaps = gapsOver(x, samples);
  const positions = 1 + (samples === 1 ? gaps : gapsOver(x, 1)).length;
  const width = select(gaps, 0, gaps.length, Math.floor(WIDTH_QUANTILE * (gaps.length - 1)));
  const span = x[x.length - 1]! - x[0]!;
  return Math.min(Math.max(Math.floor(span / width), MIN_EVEN_BINS), positions, MAX_BINS);
}

/** The value at a place between two samples; `near` is the index of a sample close to it. */
function interpolated(x: Float64Array, y: Float64Array, at: number, near: number): number {
  let i = near;
  while (i > 0 && x[i]! > at) i--;
  while (i < x.length - 2 && x[i + 1]! <= at) i++;
  const gap = x[i + 1]! - x[i]!;
  return gap > 0 ? y[i]! + ((y[i + 1]! - y[i]!) * (at - x[i]!)) / gap : y[i]!;
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

/** Median of the first `size` values, which ascend as those of a running maximum do. */
function medianOfSorted(values: Float64Array, size: number): number {
  const upper = values[size >> 1]!;
  return size % 2 === 1 ? upper : (values[(size >> 1) - 1]! + upper) / 2;
}

/** The stretches that begin at `first` and at each end: lowest low, median middle, highest high. */
function grouped(bins: Bins, first: number, ends: Uint32Array, x = binCenters(bins.x, first, ends)): Bins {
  const count = ends.length;
  const low = new Float64Array(count);
  const middle = new Float64Array(count);
  const high = new Float64Array(count);
  let scratch = new Float64Array(64);
  for (let k = 0, from = first; k < count; k++) {
    const to = ends[k]!;
    const size = to - from;
    if (size > scratch.length) scratch = new Float64Array(2 * size);
    let min = Number.POSITIVE_INFINITY;
    let max = Number.NEGATIVE_INFINITY;
    let ascending = true;
    let previous = Number.NEGATIVE_INFINITY;
    for (let i = from, j = 0; i < to; i++, j++) {
      const value = bins.middle[i]!;
      if (value < previous) ascending = false;
      previous = value;
      scratch[j] = value;
      if (bins.low[i]! < min) min = bins.low[i]!;
      if (bins.high[i]! > max) max = bins.high[i]!;
    }
    low[k] = min;
    high[k] = max;
    middle[k] = min === max ? min : ascending ? medianOfSorted(scratch, size) : medianInPlace(scratch, 0, size);
    from = to;
  }
  return { count, x, low, middle, high };
}
