import { normalMad } from "../../stats/mad.ts";

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
 */
export function climbsEqualStairs(y: Float64Array, least: number): boolean {
  const n = y.length;
  const noise = normalMad(Float64Array.from({ length: n - 1 }, (_, i) => y[i + 1]! - y[i]!));
  const stairs = jumpsOf(y, Math.max(OUTSTANDING * noise, least));
  if (stairs === null || stairs.length < MIN_STAIRS || stairs.length > n / 4) return false;
  const sorted = stairs.map(({ bytes }) => bytes).sort((a, b) => a - b);
  const size = sorted[(sorted.length - 1) >> 2]!;
  const slack = Math.max(SAME_SIZE, (3 * Math.SQRT2 * noise) / size);
  if (slack > MAX_SLACK) return false;
  // Two stairs may be between the same two points.
  const units = stairs.map(({ bytes }) => Math.round(bytes / size));
  if (stairs.some(({ bytes }, k) => units[k]! < 1 || Math.abs(bytes / size - units[k]!) > slack * units[k]!))
    return false;
  if (units.filter((unit) => unit === 1).length < units.length / 2) return false;
  const total = sorted.reduce((sum, bytes) => sum + bytes, 0);
  if (Math.abs(y[n - 1]! - y[0]! - total) > REST_SHARE * total) return false;
  const count = units.reduce((sum, unit) => sum + unit, 0);
  const mean = stairs.reduce((sum, { at }, k) => sum + at * units[k]!, 0) / count;
  // The mean of uniform times has variance 1/(12 count). The last one is before t with probability t to the count.
  const end = UNEVEN.end ** (1 / count);
  return (
    Math.abs(mean - 0.5) <= UNEVEN.mean / Math.sqrt(12 * count) &&
    stairs[stairs.length - 1]!.at >= end &&
    stairs[0]!.at <= 1 - end
  );
}
