/** Order statistics on typed arrays, in place and without sorting everything. */

/** k-th smallest (0-based) of values[from, to); reorders that range. Quickselect with a median-of-three pivot. */
export function select(values: Float64Array, from: number, to: number, k: number): number {
  let low = from;
  let high = to - 1;
  const target = from + k;
  while (low < high) {
    const middle = (low + high) >> 1;
    const a = values[low]!;
    const b = values[middle]!;
    const c = values[high]!;
    const pivot = a < b ? (b < c ? b : Math.max(a, c)) : a < c ? a : Math.max(b, c);
    let i = low;
    let j = high;
    while (i <= j) {
      while (values[i]! < pivot) i++;
      while (values[j]! > pivot) j--;
      if (i <= j) {
        const swap = values[i]!;
        values[i] = values[j]!;
        values[j] = swap;
        i++;
        j--;
      }
    }
    if (target <= j) high = j;
    else if (target >= i) low = i;
    else break;
  }
  return values[target]!;
}

/** Median of values[from, to), which is reordered; NaN when empty. */
export function medianInPlace(values: Float64Array, from = 0, to = values.length): number {
  const n = to - from;
  if (n === 0) return Number.NaN;
  if (n === 1) return values[from]!;
  const upper = select(values, from, to, n >> 1);
  if (n % 2 === 1) return upper;
  let lower = Number.NEGATIVE_INFINITY;
  for (let i = from; i < from + (n >> 1); i++) if (values[i]! > lower) lower = values[i]!;
  return (lower + upper) / 2;
}

/** A copy that may be reordered. `from` walks an iterator, which takes many times as long as copying the memory. */
function copyOf(values: ArrayLike<number>): Float64Array {
  return values instanceof Float64Array ? values.slice() : Float64Array.from(values);
}

/**
 * Lower median of a copy: always one of the values, never half-way between two. A part that straddles a jump then shows
 * one of the two levels instead of a third that does not exist.
 */
export function lowerMedian(values: ArrayLike<number>): number {
  const copy = copyOf(values);
  return copy.length === 0 ? Number.NaN : select(copy, 0, copy.length, (copy.length - 1) >> 1);
}

/** Median of a copy. */
export function median(values: ArrayLike<number>): number {
  return medianInPlace(copyOf(values));
}

/** Median absolute deviation scaled to a normal standard deviation. */
export function normalMad(values: ArrayLike<number>): number {
  const distances = copyOf(values);
  const centre = median(values);
  for (let i = 0; i < distances.length; i++) distances[i] = Math.abs(distances[i]! - centre);
  return 1.4826 * medianInPlace(distances);
}

export function mean(values: ArrayLike<number>, from = 0, to = values.length): number {
  let total = 0;
  for (let i = from; i < to; i++) total += values[i]!;
  return total / (to - from);
}
