import { MIN_CONFIRMATIONS } from "../model/defaults.ts";

/**
 * Estimated probability that a run without a regression exceeds the threshold, from `above` of `runs` baseline runs
 * that did. The count of a rare event is known to about its square root, which is added: an upper mode that was seen
 * once in ten runs may well be that of one run in four.
 */
export function falseAlarmRate(above: number, runs: number): number {
  return (above + Math.sqrt(above) + 1) / (runs + 2);
}

/** Smallest number of runs (within [2 + misses, max]) with a false alarm probability of at most `alpha`. */
export function confirmations(probability: (runs: number) => number, alpha: number, max: number, misses = 0): number {
  for (let runs = MIN_CONFIRMATIONS + misses; runs < max; runs += 1) if (probability(runs) <= alpha) return runs;
  return max;
}

/**
 * Probability that of `candidates` runs without a regression all but at most `misses` exceed the threshold, at that
 * rate (the upper tail of the binomial distribution).
 */
export function falseAlarmProbability(rate: number, candidates: number, misses = 0): number {
  let [sum, ways] = [0, 1];
  for (let k = 0; k <= misses; k += 1) {
    sum += ways * rate ** (candidates - k) * (1 - rate) ** k;
    ways *= (candidates - k) / (k + 1);
  }
  return Math.min(1, sum);
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
