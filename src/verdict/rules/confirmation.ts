import { MIN_CONFIRMATIONS } from "../model/defaults.ts";

/**
 * Estimated probability that a run without a regression exceeds the threshold, from `above` of `runs` baseline runs
 * that did. The count of a rare event is known to about its square root, which is added: an upper mode that was seen
 * once in ten runs may well be that of one run in four.
 */
export function falseAlarmRate(above: number, runs: number): number {
  return (above + Math.sqrt(above) + 1) / (runs + 2);
}

/** Consecutive runs above the threshold that are a breach with a false alarm probability of at most `alpha`. */
export function confirmations(rate: number, alpha: number, max: number): number {
  const wanted = rate >= 1 ? max : Math.ceil(Math.log(alpha) / Math.log(rate));
  return Math.max(MIN_CONFIRMATIONS, Math.min(max, wanted));
}

/** Probability that `candidates` runs without a regression all exceed the threshold, at that rate. */
export function falseAlarmProbability(rate: number, candidates: number): number {
  return Math.min(1, rate ** candidates);
}

/** Probability that `candidates` runs exceed a level as `above` of `runs` did, by Laplace's rule of succession. */
export function predictiveProbability(above: number, runs: number, candidates: number): number {
  let probability = 1;
  for (let i = 0; i < candidates; i += 1) probability *= (above + 1 + i) / (runs + 2 + i);
  return probability;
}

/** Smallest number of candidate runs (within [2, max]) whose predictive probability is at most `alpha`. */
export function predictiveConfirmations(above: number, runs: number, alpha: number, max: number): number {
  for (let candidates = MIN_CONFIRMATIONS; candidates < max; candidates += 1) {
    if (predictiveProbability(above, runs, candidates) <= alpha) return candidates;
  }
  return max;
}

/**
 * Probability that all of `candidates` runs lie as far up among `runs` others as they do, with `above` of those at or
 * above the lowest of them, if all are runs of one program: C(above + candidates, candidates) of the
 * C(runs + candidates, candidates) equally likely orders (the exact test of exceedances; Rosenbaum, 1954). Of runs of
 * one session it knows nothing that they share.
 */
export function separationProbability(above: number, runs: number, candidates: number): number {
  let probability = 1;
  for (let i = 1; i <= candidates; i += 1) probability *= (above + i) / (runs + i);
  return probability;
}
