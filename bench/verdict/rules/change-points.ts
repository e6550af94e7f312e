import tCdf from "@stdlib/stats-base-dists-t-cdf";
import { deviation, meanOf } from "./peak-moments.ts";

/**
 * Change points as Apache Otava finds them: E-divisive splits (Matteson and James 2014) in sliding windows, each
 * accepted by an equal-variance t test, then weak points removed again (Fleming et al. 2023, "Hunter").
 */
export interface ChangePoint {
  /** First value after the change. */
  readonly index: number;
  readonly p: number;
}

/**
 * p of a two-sided t test with pooled variance. Deviations have n below, which is Otava's own (and a little too sure).
 */
function testP(left: readonly number[], right: readonly number[]): number {
  const [n, m] = [left.length, right.length];
  const freedom = n + m - 2;
  if (freedom <= 0) return 1;
  const spread = (side: readonly number[]) => (side.length >= 2 ? deviation(side, 0) : 0);
  const pooled = ((n - 1) * spread(left) ** 2 + (m - 1) * spread(right) ** 2) / freedom;
  const difference = Math.abs(meanOf(left) - meanOf(right));
  if (pooled === 0) return difference > 0 ? 0 : 1;
  return 2 * (1 - tCdf(difference / Math.sqrt(pooled * (1 / n + 1 / m)), freedom));
}

/** Sums of the distances between all pairs of `series[from + a, from + b)`, at a (n + 1) + b. */
function pairSums(series: readonly number[], from: number, n: number): Float64Array {
  const sums = new Float64Array((n + 1) * (n + 1));
  // What `j` adds to a stretch that begins at `a`: its distances to everything from `a` on before it.
  const added = new Float64Array(n);
  for (let a = n - 1; a >= 0; a -= 1) {
    const first = series[from + a] ?? Number.NaN;
    let sum = 0;
    for (let j = a + 1; j < n; j += 1) {
      const distance = (added[j] ?? 0) + Math.abs(first - (series[from + j] ?? Number.NaN));
      added[j] = distance;
      sum += distance;
      sums[a * (n + 1) + j + 1] = sum;
    }
  }
  return sums;
}

/**
 * The split that maximises the energy distance between `[from, at)` and `[at, end)`, over all `at` and all `end` up to
 * `to`.
 */
function bestSplit(series: readonly number[], from: number, to: number): { index: number; distance: number } | null {
  const n = to - from;
  if (n < 2) return null;
  const sums = pairSums(series, from, n);
  const within = (a: number, b: number): number => sums[a * (n + 1) + b] ?? 0;
  let best: { index: number; distance: number } | null = null;
  for (let at = 1; at < n; at += 1) {
    const left = within(0, at);
    for (let end = at + 1; end <= n; end += 1) {
      const m = end - at;
      const right = within(at, end);
      const between = within(0, end) - left - right;
      const distance =
        (2 / end) * (between - (at > 1 ? (m * left) / (at - 1) : 0) - (m > 1 ? (at * right) / (m - 1) : 0));
      if (best === null || distance > best.distance) best = { index: from + at, distance };
    }
  }
  return best;
}

/** Split a window again and again while the best remaining split is significant. */
function splitWindow(series: readonly number[], from: number, to: number, level: number): number[] {
  const found: number[] = [];
  for (;;) {
    const borders = [from, ...found, to];
    let best: { index: number; distance: number; p: number } | null = null;
    for (let k = 1; k < borders.length; k += 1) {
      const [start, end] = [borders[k - 1] ?? from, borders[k] ?? to];
      const split = bestSplit(series, start, end);
      if (split === null || (best !== null && split.distance <= best.distance)) continue;
      best = { ...split, p: testP(series.slice(start, split.index), series.slice(split.index, end)) };
    }
    if (best === null || !(best.p <= level)) return found;
    found.push(best.index);
    found.sort((a, b) => a - b);
  }
}

/** Each point with the p of its two neighbouring stretches. */
function withP(series: readonly number[], indexes: readonly number[]): ChangePoint[] {
  return indexes.map((index, k) => ({
    index,
    p: testP(series.slice(indexes[k - 1] ?? 0, index), series.slice(index, indexes[k + 1] ?? series.length)),
  }));
}

/** Change points of a series, ascending: window 50, p below 0.001, any magnitude, as Otava's defaults. */
export function changePoints(series: readonly number[], { window = 50, level = 0.001 } = {}): ChangePoint[] {
  const weak = new Set<number>();
  const first = level < 0.05 ? 10 * level : level < 0.5 ? 2 * level : level;
  const step = Math.floor(window / 2);
  for (let start = 0; start < series.length; ) {
    const found = splitWindow(series, start, Math.min(start + window, series.length), first);
    for (const index of found) weak.add(index);
    start = Math.max(found.at(-1) ?? 0, start + step);
  }
  let points = withP(
    series,
    [...weak].sort((a, b) => a - b),
  );
  for (;;) {
    const weakest = points.reduce<ChangePoint | null>(
      (worst, p) => (worst === null || p.p > worst.p ? p : worst),
      null,
    );
    if (weakest === null || weakest.p < level) return points;
    points = withP(
      series,
      points.filter((point) => point !== weakest).map(({ index }) => index),
    );
  }
}
