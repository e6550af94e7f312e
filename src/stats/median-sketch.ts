import { medianInPlace } from "./order-statistics.ts";

/**
 * Values of which only the median is needed: exact, or a histogram with logarithmic bins where there are many (as in
 * Masson, Rim and Lee 2019, "DDSketch"), so that ten thousand samples of a thousand ranks need a few hundred numbers
 * each.
 */
export type MedianSketch =
  | { readonly kind: "exact"; readonly values: Float64Array }
  | { readonly kind: "counted"; readonly sizes: Float64Array; readonly counts: Float64Array };

/** Bits of a double's fraction that a bin keeps: values of one bin differ by less than one part in four thousand. */
const KEPT_BITS = 12;
const DROPPED_BITS = 20 - KEPT_BITS;

const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);
/** Index, by this machine's byte order, of the word with the sign, the exponent and the fraction's first bits. */
const HIGH = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 1 : 0;

/** The middle of the bin of a value. */
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

/** @param exact maximum number of values that are kept exactly */
export function medianSketch(values: readonly number[], exact: number): MedianSketch {
  if (values.length <= exact) return { kind: "exact", values: Float64Array.from(values) };
  const counts = counted(values);
  return { kind: "counted", sizes: Float64Array.from(counts.keys()), counts: Float64Array.from(counts.values()) };
}

/** Median over all sketches, rounded down, to one part in four thousand where one has bins. 0 without values. */
export function medianOfSketches(all: readonly MedianSketch[]): bigint {
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
