import { median } from "../stats/order-statistics.ts";

/** Where runs of one kind lie, and how far above that a run may lie. Bytes. */
export interface Level {
  readonly centre: number;
  readonly spread: number;
  readonly margin: number;
  readonly threshold: number;
}

/** How far above `centre` a value may lie, given the spread of the runs it comes from; bytes. */
export type Margin = (centre: number, spread: number) => number;

/** Centre, spread, margin and threshold of a set of runs. */
export function levelOf(values: readonly number[], spread: number, margin: Margin): Level {
  const centre = median(values);
  const allowed = margin(centre, spread);
  return { centre, spread, margin: allowed, threshold: centre + allowed };
}
