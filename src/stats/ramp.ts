/** A level, a straight line from index `from` on, and another level from index `to` on. */
interface Ramp {
  readonly from: number;
  readonly to: number;
  /** Residual sum of squares. */
  readonly squares: number;
}

/**
 * The two levels with a straight line between them that fit best (least squares), each level of at least `flat`
 * values; a step is a line between neighbours. Null for too few values.
 */
export function fitRamp(values: Float64Array, flat: number): Ramp | null {
  const n = values.length;
  const centre = values.reduce((sum, value) => sum + value, 0) / n;
  // Prefix sums of y and of i * y: the sums over any line take constant time.
  const [sums, moments] = [new Float64Array(n + 1), new Float64Array(n + 1)];
  let total = 0;
  for (let i = 0; i < n; i += 1) {
    const y = values[i]! - centre;
    sums[i + 1] = sums[i]! + y;
    moments[i + 1] = moments[i]! + i * y;
    total += y * y;
  }
  let best: Ramp | null = null;
  for (let from = flat - 1; from < n - flat; from += 1) {
    for (let to = from + 1; to <= n - flat; to += 1) {
      // Regression of y on w, which is 0 up to `from` and 1 as of `to`.
      const length = to - from;
      const w = (length - 1) / 2 + n - to;
      const ww = ((length - 1) * (2 * length - 1)) / (6 * length) + n - to;
      const line = moments[to]! - moments[from]! - from * (sums[to]! - sums[from]!);
      const wy = line / length + sums[n]! - sums[to]!;
      const squares = total - wy ** 2 / (ww - w ** 2 / n);
      if (best === null || squares < best.squares) best = { from, to, squares };
    }
  }
  return best;
}
