import { normalMad } from "../../stats/mad.ts";
import { ENDED_REST } from "./segments.ts";

/** Fewer stairs may be caches that fill one after the other. Of unlike heights fewer count: (sum of h)² / sum of h². */
const MIN_STAIRS = 3.5;
/** Minimum height of a stair, in standard deviations of the differences of neighbouring points. */
const OUTSTANDING = 6;
/** Share of the growth that need not be stairs. */
const REST_SHARE = 0.2;
/** One-sided 5 % level of the test for uniform times: normal quantile for their mean, probability for the ends. */
const UNEVEN = { mean: 1.645, end: 0.05 } as const;
/** A last rest longer than this many times the longest one before it is not another random gap. */
const MAX_GAPS = 2;

/**
 * Whether a series consists of upward stairs at uniformly distributed times: an allocator reserves another segment
 * whenever a leak has filled the last one. Few stairs at random times leave long rests and large gaps, which the models
 * of a trend take for jumps or for an end.
 * @param least smallest jump to consider, in the unit of y
 * @returns `rising` when the last rest may be the end of the growth
 */
export function climbsStairs(y: Float64Array, least: number): "leak" | "rising" | null {
  const last = y.length - 1;
  const jumps = Float64Array.from({ length: last }, (_, i) => y[i + 1]! - y[i]!);
  const smallest = Math.max(OUTSTANDING * normalMad(jumps), least);
  let [sum, squares, moment, first, end, gap] = [0, 0, 0, 1, 0, 0];
  for (let i = 0; i < last; i++) {
    if (jumps[i]! < -smallest) return null;
    if (!(jumps[i]! > smallest)) continue;
    // A jump that one point shows half is one jump.
    const height = jumps[i + 1]! > smallest ? jumps[i]! + jumps[++i]! : jumps[i]!;
    gap = Math.max(gap, i / last - end);
    end = i / last;
    first = Math.min(first, end);
    sum += height;
    squares += height * height;
    moment += height * end;
  }
  const count = (sum * sum) / squares;
  if (!(count >= MIN_STAIRS) || Math.abs(y[last]! - y[0]! - sum) > REST_SHARE * sum) return null;
  // The mean of uniform times has variance 1/(12 count). The last one is before t with probability t to the count.
  const latest = UNEVEN.end ** (1 / count);
  const isEven = Math.abs(moment / sum - 0.5) <= UNEVEN.mean / Math.sqrt(12 * count);
  if (!isEven || end < latest || first > 1 - latest) return null;
  if (1 - end < ENDED_REST) return "leak";
  return 1 - end <= MAX_GAPS * gap ? "rising" : null;
}
