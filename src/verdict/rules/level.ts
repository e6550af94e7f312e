import { median } from "../../stats/order-statistics.ts";

/** Centre and spread of a set of runs, and the highest value that a run may have. Bytes. */
export interface Level {
  readonly centre: number;
  readonly spread: number;
  readonly margin: number;
  readonly threshold: number;
}

/** By how much a value may exceed `centre`, given the spread of the runs it comes from; bytes. */
export type Margin = (centre: number, spread: number) => number;

/** Centre, spread, margin and threshold of a set of runs. */
export function levelOf(values: readonly number[], spread: number, margin: Margin): Level {
  const centre = median(values);
  const allowed = margin(centre, spread);
  return { centre, spread, margin: allowed, threshold: centre + allowed };
}
