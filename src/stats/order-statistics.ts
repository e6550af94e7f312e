/** Order statistics of numbers without NaN, by selection instead of sorting. */

/** k-th smallest (0-based) of values[from, to), reordered. Quickselect (Hoare 1961, "Algorithm 65: find"). */
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

/** Median of values[from, to), which is reordered. NaN when the range is empty. */
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

/** A copy that may be reordered. `Float64Array.from` walks an iterator, which is many times as slow. */
export function copyOf(values: ArrayLike<number>): Float64Array {
  return values instanceof Float64Array ? values.slice() : Float64Array.from(values);
}

/** Median. NaN when there are no values. */
export function median(values: ArrayLike<number>): number {
  return medianInPlace(copyOf(values));
}

/**
 * Low median: the lower of the two middle values where their number is even, so that the result is always one of the
 * values. A stretch that straddles a jump then shows one of the two levels instead of a third that does not exist.
 */
export function medianLow(values: ArrayLike<number>): number {
  const copy = copyOf(values);
  return copy.length === 0 ? Number.NaN : select(copy, 0, copy.length, (copy.length - 1) >> 1);
}
