import tQuantile from "@stdlib/stats-base-dists-t-quantile";

/** By degrees and probability: every series needs the same few quantiles, and inverting the distribution is slow. */
const quantiles = new Map<number, Map<number, number>>();

/** Quantile of Student's t distribution ("Student" 1908, "The probable error of a mean"). */
export function studentQuantile(probability: number, degrees: number): number {
  let known = quantiles.get(degrees);
  if (known === undefined) {
    known = new Map();
    quantiles.set(degrees, known);
  }
  let quantile = known.get(probability);
  if (quantile === undefined) {
    quantile = tQuantile(probability, degrees);
    known.set(probability, quantile);
  }
  return quantile;
}
