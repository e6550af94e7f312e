import { medianInPlace } from "./order-statistics.ts";

/**
 * Intervals of which only the median is asked for: as they are, or counted by size where there are many, so that ten thousand
 * samples of a thousand ranks take no more room than a few hundred numbers each.
 */
export type Intervals =
  | { readonly kind: "exact"; readonly values: Float64Array }
  | { readonly kind: "counted"; readonly sizes: Float64Array; readonly counts: Float64Array };

/**
 * Bits of a double's fraction that a counted size keeps: sizes that share them differ by less than one part in four thousand,
 * far less than a clock's jitter.
 */
const KEPT_BITS = 12;
const DROPPED_BITS = 20 - KEPT_BITS;

const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);
/** Where the sign, the exponent and the first bits of the fraction stand, by this machine's order of bytes. */
const HIGH = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 1 : 0;

/** The middle of all sizes that are counted together with this one. */
function rounded(value: number): number {
  double[0] = value;
  words[HIGH] = (((words[HIGH] ?? 0) >>> DROPPED_BITS) << DROPPED_BITS) | (1 << (DROPPED_BITS - 1));
  words[1 - HIGH] = 0;
  return double[0] ?? value;
}

function counted(values: ArrayLike<number>): Map<number, number> {
  const counts = new Map<number, number>();
  for (let i = 0; i < values.length; i++) {
    const size = rounded(values[i] ?? 0);
    counts.set(size, (counts.get(size) ?? 0) + 1);
  }
  return counts;
}

/** @param exact most values that are kept as they are */
export function intervalsOf(values: readonly number[], exact: number): Intervals {
  if (values.length <= exact) return { kind: "exact", values: Float64Array.from(values) };
  const counts = counted(values);
  return { kind: "counted", sizes: Float64Array.from(counts.keys()), counts: Float64Array.from(counts.values()) };
}

/** Median over all of them, whole nanoseconds, to one part in four thousand where any were counted; 0 when there is none. */
export function medianInterval(all: readonly Intervals[]): bigint {
  if (all.every((one) => one.kind === "exact")) {
    const joined = new Float64Array(all.reduce((length, { values }) => length + values.length, 0));
    let at = 0;
    for (const { values } of all) {
      joined.set(values, at);
      at += values.length;
    }
    return joined.length === 0 ? 0n : BigInt(Math.floor(medianInPlace(joined)));
  }
  const counts = new Map<number, number>();
  const add = (size: number, count: number) => counts.set(size, (counts.get(size) ?? 0) + count);
  for (const one of all) {
    if (one.kind === "exact") for (const [size, count] of counted(one.values)) add(size, count);
    else for (let i = 0; i < one.sizes.length; i++) add(one.sizes[i] ?? 0, one.counts[i] ?? 0);
  }
  const sizes = [...counts].sort(([a], [b]) => a - b);
  const total = sizes.reduce((sum, [, count]) => sum + count, 0);
  let seen = 0;
  for (const [size, count] of sizes) {
    seen += count;
    if (2 * seen >= total) return BigInt(Math.floor(size));
  }
  return 0n;
}
