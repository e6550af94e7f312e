/** Arithmetic mean of values[from, to). NaN when the range is empty. */
export function mean(values: ArrayLike<number>, from = 0, to = values.length): number {
  let total = 0;
  for (let i = from; i < to; i++) total += values[i]!;
  return total / (to - from);
}

/** Sample standard deviation, s = √(Σ(xᵢ − x̄)² / (n − 1)). 0 for fewer than two values. */
export function standardDeviation(values: ArrayLike<number>): number {
  if (values.length < 2) return 0;
  const centre = mean(values);
  let squares = 0;
  for (let i = 0; i < values.length; i++) squares += (values[i]! - centre) ** 2;
  return Math.sqrt(squares / (values.length - 1));
}

/** Pooled standard deviation, sₚ = √(Σ(nᵢ − 1)sᵢ² / Σ(nᵢ − 1)). Null when no group has two values. */
export function pooledDeviation(groups: readonly (readonly number[])[]): number | null {
  let squares = 0;
  let freedom = 0;
  for (const group of groups) {
    if (group.length < 2) continue;
    squares += standardDeviation(group) ** 2 * (group.length - 1);
    freedom += group.length - 1;
  }
  return freedom === 0 ? null : Math.sqrt(squares / freedom);
}
