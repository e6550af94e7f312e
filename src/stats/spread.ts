import { pooledDeviation, standardDeviation } from "./moments.ts";
import { pairwiseDifferences, qn } from "./qn.ts";

/** Standard deviation that rounding to a multiple of `quantum` leaves, quantum / √12 (uniform rounding error). */
const roundingDeviation = (quantum: number): number => quantum / Math.sqrt(12);

/**
 * Scale of a counter's values over runs: the smaller of Qn and the standard deviation, and at least the rounding error,
 * so that a constant series has a margin and a change of it still raises an alarm. A Qn above the standard deviation is
 * an artefact of values on few levels.
 */
export function spread(values: readonly number[], quantum: number): number {
  return Math.max(roundingDeviation(quantum), Math.min(qn(values), standardDeviation(values)));
}

/**
 * The same within groups: from the differences of pairs of one group, so that an offset between groups does not count.
 * The robust estimate is the lower quartile of these differences over that of a normal distribution, 0.4506 σ. Null
 * when no group has two values.
 */
export function spreadWithin(groups: readonly (readonly number[])[], quantum: number): number | null {
  const deviation = pooledDeviation(groups);
  if (deviation === null) return null;
  const differences = groups.flatMap(pairwiseDifferences).sort((a, b) => a - b);
  const quartile = (differences[Math.ceil(differences.length / 4) - 1] as number) * 2.2193;
  return Math.max(roundingDeviation(quantum), Math.min(quartile, deviation));
}
