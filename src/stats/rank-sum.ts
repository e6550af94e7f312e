/**
 * One-sided p-value of the rank-sum test: the share of all divisions of the values, in groups of their size, whose
 * `sample` has a rank sum at least as high (Wilcoxon, 1945; Mann and Whitney, 1947). Equal values share their mean rank
 * and the distribution is that of the values with their ties (Lehmann, 1975, "Nonparametrics", section 1.4), so that it
 * is exact for any distribution of the values, mixtures included. 1 when either side is empty.
 */
export function rankSumPValue(sample: readonly number[], others: readonly number[]): number {
  const size = sample.length;
  const pooled = [...sample, ...others].sort((a, b) => a - b);
  if (size === 0 || others.length === 0) return 1;
  // ways[k][s]: divisions of the values so far with k of them in the sample and twice their rank sum being s.
  const ways = Array.from({ length: size + 1 }, () => new Map<number, number>());
  ways[0]?.set(0, 1);
  let observed = 0;
  for (let from = 0, to = 0; from < pooled.length; from = to) {
    const value = pooled[from] as number;
    while (pooled[to] === value) to += 1;
    const doubledRank = from + to + 1;
    observed += doubledRank * sample.filter((one) => one === value).length;
    for (let k = size; k > 0; k -= 1) addTied(ways, k, to - from, doubledRank);
  }
  let [reaching, all] = [0, 0];
  for (const [sum, count] of ways[size] ?? []) {
    all += count;
    if (sum >= observed) reaching += count;
  }
  return reaching / all;
}

/** Adds the divisions in which some of `tied` equal values are the last of the `k` of the sample. */
function addTied(ways: readonly Map<number, number>[], k: number, tied: number, doubledRank: number): void {
  let choices = 1;
  for (let taken = 1; taken <= Math.min(tied, k); taken += 1) {
    choices *= (tied - taken + 1) / taken;
    for (const [sum, count] of ways[k - taken] ?? []) {
      const at = sum + taken * doubledRank;
      ways[k]?.set(at, (ways[k]?.get(at) ?? 0) + count * choices);
    }
  }
}
