import { normalMad } from "../../stats/mad.ts";
import { ENDED_REST } from "./segments.ts";

/** Fewer stairs may be caches that fill one after the other. */
const MIN_STAIRS = 4;
/** Minimum height of a stair, in standard deviations of the differences of neighbouring points. */
const OUTSTANDING = 6;
/** Maximum difference of stairs of one size, as a share of it, and the noise up to which sizes can be compared. */
const SAME_SIZE = 0.04;
const MAX_SLACK = 0.2;
/** Share of the growth that need not be stairs. */
const REST_SHARE = 0.2;
/** One-sided 5 % level of the test for uniform times: normal quantile for their mean, probability for the ends. */
const UNEVEN = { mean: 1.645, end: 0.05 } as const;
/** A last rest longer than this many times the longest one before it is not another random gap. */
const MAX_GAPS = 2;

interface Stair {
  readonly bytes: number;
  /** Share of the series before it. */
  readonly at: number;
}

/** Upward jumps between neighbours. A jump that one point shows half is one jump. Null when the series falls. */
function jumpsOf(y: Float64Array, smallest: number): Stair[] | null {
  const last = y.length - 1;
  const jumps: Stair[] = [];
  for (let i = 0; i < last; i++) {
    const first = y[i + 1]! - y[i]!;
    if (first < -smallest) return null;
    if (!(first > smallest)) continue;
    const second = i + 1 < last ? y[i + 2]! - y[i + 1]! : 0;
    const whole = second > smallest ? first + second : first;
    jumps.push({ bytes: whole, at: (i + 1 + (whole - first) / whole) / last });
    if (whole > first) i++;
  }
  return jumps;
}

/**
 * Whether a series consists of upward stairs of one size at uniformly distributed times: an allocator reserves another
 * segment whenever a leak has filled the last one. Few stairs at random times leave long rests and large gaps, which
 * tests on parts of the series take for jumps or a warm-up.
 * @param least smallest jump to consider, in the unit of y
 * @returns `leak`; `rising` when the last rest may be the end of the growth; null for any other series
 */
export function climbsEqualStairs(y: Float64Array, least: number): "leak" | "rising" | null {
  const stairs = equalStairs(y, least);
  if (stairs === null) return null;
  const count = stairs.reduce((sum, { units }) => sum + units, 0);
  const mean = stairs.reduce((sum, { at, units }) => sum + at * units, 0) / count;
  const first = stairs[0]!.at;
  const last = stairs[stairs.length - 1]!.at;
  // The mean of uniform times has variance 1/(12 count). The last one is before t with probability t to the count.
  const end = UNEVEN.end ** (1 / count);
  if (Math.abs(mean - 0.5) > UNEVEN.mean / Math.sqrt(12 * count) || last < end || first > 1 - end) return null;
  if (1 - last < ENDED_REST) return "leak";
  const gap = Math.max(first, ...stairs.slice(1).map(({ at }, k) => at - stairs[k]!.at));
  return 1 - last <= MAX_GAPS * gap ? "rising" : null;
}

/** The stairs with their heights in units of one size; null when the series is not made of at least four. */
function equalStairs(y: Float64Array, least: number): (Stair & { readonly units: number })[] | null {
  const n = y.length;
  const noise = normalMad(Float64Array.from({ length: n - 1 }, (_, i) => y[i + 1]! - y[i]!));
  const stairs = jumpsOf(y, Math.max(OUTSTANDING * noise, least));
  if (stairs === null || stairs.length < MIN_STAIRS || stairs.length > n / 4) return null;
  const sorted = stairs.map(({ bytes }) => bytes).sort((a, b) => a - b);
  const size = sorted[(sorted.length - 1) >> 2]!;
  const slack = Math.max(SAME_SIZE, (3 * Math.SQRT2 * noise) / size);
  if (slack > MAX_SLACK) return null;
  // Two stairs may be between the same two points.
  const counted = stairs.map((stair) => ({ ...stair, units: Math.round(stair.bytes / size) }));
  if (counted.some(({ bytes, units }) => units < 1 || Math.abs(bytes / size - units) > slack * units)) return null;
  if (counted.filter(({ units }) => units === 1).length < counted.length / 2) return null;
  const total = sorted.reduce((sum, bytes) => sum + bytes, 0);
  return Math.abs(y[n - 1]! - y[0]! - total) > REST_SHARE * total ? null : counted;
}
