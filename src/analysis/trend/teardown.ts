import type { Bins } from "./bins.ts";

/**
 * A process that ends frees its memory at least this fast, bytes per nanosecond (128 MiB/s), or within this time:
 * CPython gives back objects of 400 bytes at 1.9 GiB for a second of processor time, the kernel pages faster. A queue
 * that drains is slower, and part of the run. On an axis of steps every fall is faster.
 */
const MIN_RELEASE_RATE = (128 * 2 ** 20) / 1e9;
const MAX_RELEASE_NS = 1e9;

/**
 * Begin of the tear-down: a process that ends frees its memory, and these last samples must not classify a run as
 * shrinking. The longest run of points at the end, at most a tenth of all, below the minimum of the fifth before them.
 * @param material smallest material change, bytes
 * @returns number of points to keep
 */
export function teardownStart({ x, low, high }: Pick<Bins, "x" | "low" | "high">, material: number): number {
  const keep = lastFall(low, high, material);
  const before = Math.max(0, keep - 1);
  const took = x[x.length - 1]! - x[before]!;
  const isSlow = took > MAX_RELEASE_NS && high[before]! - low[low.length - 1]! < MIN_RELEASE_RATE * took;
  return isSlow ? low.length : keep;
}

function lastFall(low: Float64Array, high: Float64Array, material: number): number {
  const n = low.length;
  const most = Math.max(1, Math.floor(n / 10));
  if (n < 12) return n;
  const to = n - most;
  let reference = Number.POSITIVE_INFINITY;
  for (let i = to - Math.floor(n / 5); i < to; i++) reference = Math.min(reference, low[i]!);
  let keep = n;
  while (keep > to && low[keep - 1]! < reference - material / 2) keep--;
  if (keep < n) keep = fallStart(low, keep, to, material);
  // A dip from which the series returns is the low point of a saw-tooth, not an end.
  if (keep < n && low[n - 1]! <= high[keep - 1]! - material / 2) {
    return abruptEnd(low.subarray(0, keep), high.subarray(0, keep), material);
  }
  return abruptEnd(low, high, material);
}

/** The fall may begin above that minimum, and rest half-way: a starved process waits between two of its releases. */
function fallStart(low: Float64Array, below: number, to: number, material: number): number {
  let start = below;
  for (let i = below; i > to && low[i - 1]! <= low[i - 2]! + material / 16; i--) {
    if (low[i - 1]! < low[i - 2]! - material / 4) start = i - 1;
  }
  return start;
}

/** Maximum share of the points during which a process ends: a tenth of a second in a run of two. */
const ENDING_SHARE = 0.05;

/**
 * An end that is sampled half-way in a series that rises fast: below its neighbours, but not below earlier values. A
 * fall near the end by more than half of what is material, larger than any fall before it, after which the series does
 * not recover.
 */
function abruptEnd(low: Float64Array, high: Float64Array, material: number): number {
  const n = low.length;
  let deepest = material / 2;
  let at = n;
  for (let i = Math.max(1, n - Math.max(1, Math.floor(n * ENDING_SHARE))); i < n; i++) {
    const fall = low[i - 1]! - low[i]!;
    if (fall > deepest) {
      deepest = fall;
      at = i;
    }
  }
  if (at === n || !(low[n - 1]! <= low[at - 1]! - material / 2)) return n;
  for (let i = 1; i < at; i++) if (high[i - 1]! - low[i]! > deepest / 2) return n;
  return at;
}
