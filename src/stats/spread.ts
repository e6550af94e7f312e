/** Median of any numbers; NaN for none. Does not change its input. */
export function median(values: readonly number[]): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const high = sorted[middle] as number;
  return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] as number) + high) / 2;
}

/** Standard deviation with n - 1; 0 for fewer than two values. */
export function standardDeviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const mean = values.reduce((sum, x) => sum + x, 0) / values.length;
  return Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (values.length - 1));
}

/**
 * Rousseeuw and Croux's Qn (1993): a quartile of all pairwise differences, scaled to the standard deviation of a normal,
 * with the finite-sample factors of Croux and Rousseeuw (1992) for large n. As robust as the median absolute deviation
 * and twice as efficient, which is worth having with ten runs. 0 for fewer than two values.
 */
export function qn(values: readonly number[]): number {
  const n = values.length;
  if (n < 2) return 0;
  const differences: number[] = [];
  for (let i = 1; i < n; i += 1) {
    for (let j = 0; j < i; j += 1) differences.push(Math.abs((values[i] as number) - (values[j] as number)));
  }
  differences.sort((a, b) => a - b);
  const h = Math.floor(n / 2) + 1;
  const rank = (h * (h - 1)) / 2;
  const smallSample = n % 2 === 1 ? n / (n + 1.4) : n / (n + 3.8);
  return 2.2219 * smallSample * (differences[rank - 1] as number);
}

/**
 * Spread of runs, never below the counter's rounding error (quantum / sqrt 12), so that a constant series still has a
 * margin and still alarms. The smaller of Qn and the standard deviation: a robust estimate above the ordinary one is an
 * artefact of values that come in a few steps.
 */
export function spread(values: readonly number[], quantum: number): number {
  return Math.max(quantum / Math.sqrt(12), Math.min(qn(values), standardDeviation(values)));
}

/** Standard deviation about each group's own mean; null when no group has two values. */
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

/**
 * Spread within sessions, from pairs of runs of one session, so that an offset between sessions does not count. Null when
 * no session has two runs. `groups` holds the values of one session each.
 */
export function spreadWithin(groups: readonly (readonly number[])[], quantum: number): number | null {
  const deviation = pooledDeviation(groups);
  if (deviation === null) return null;
  const differences: number[] = [];
  for (const group of groups) {
    for (let i = 1; i < group.length; i += 1) {
      for (let j = 0; j < i; j += 1) differences.push(Math.abs((group[i] as number) - (group[j] as number)));
    }
  }
  differences.sort((a, b) => a - b);
  // The 25 % quantile of |difference| of two normals is 0.4506 sigma.
  const quartile = (differences[Math.ceil(differences.length / 4) - 1] as number) * 2.2193;
  return Math.max(quantum / Math.sqrt(12), Math.min(quartile, deviation));
}
