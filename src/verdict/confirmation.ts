import { MIN_CONFIRMATIONS } from "./defaults.ts";

/**
 * Estimated chance that one innocent run exceeds the threshold, from `above` of `runs` baseline runs that did. The count
 * of a rare event is known to about its square root, which is added once it has been seen: two modes of which the upper
 * one was met once in ten runs may well be a mode of one run in four.
 */
export function falseAlarmRate(above: number, runs: number): number {
  return (above + Math.sqrt(above) + 1) / (runs + 2);
}

/** Consecutive candidate runs beyond the threshold that make a breach: the chance of an innocent one is at most `alpha`. */
export function confirmations(rate: number, alpha: number, most: number): number {
  const wanted = rate >= 1 ? most : Math.ceil(Math.log(alpha) / Math.log(rate));
  return Math.max(MIN_CONFIRMATIONS, Math.min(most, wanted));
}

/** Chance that `candidates` innocent runs in a row exceed the threshold at that rate: the bound a breach reached. */
export function bound(rate: number, candidates: number): number {
  return Math.min(1, rate ** candidates);
}

/**
 * Chance that the next `candidates` runs all exceed a level that `above` of `runs` earlier ones did, when nothing else is
 * known of the rate (Laplace's rule of succession, repeated).
 */
export function predictiveChance(above: number, runs: number, candidates: number): number {
  let chance = 1;
  for (let i = 0; i < candidates; i += 1) chance *= (above + 1 + i) / (runs + 2 + i);
  return chance;
}

/** Fewest candidate runs (within [2, most]) whose predictive chance is at most `alpha`. */
export function predictiveConfirmations(above: number, runs: number, alpha: number, most: number): number {
  for (let candidates = MIN_CONFIRMATIONS; candidates < most; candidates += 1) {
    if (predictiveChance(above, runs, candidates) <= alpha) return candidates;
  }
  return most;
}
