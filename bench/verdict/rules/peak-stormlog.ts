import { deviation, meanOf } from "./peak-moments.ts";
import { oneRunRule, type PeakRule } from "./peak-rule.ts";

/**
 * Stormlog's spike rule: a value more than two deviations (n - 1) above the mean of a series that contains it.
 * Made for the samples of one run; here the series is the baseline's peaks and the change's.
 */
export function isSpike(series: readonly number[], value: number): boolean {
  const spread = deviation(series, 1);
  return spread > 0 && (value - meanOf(series)) / spread > 2;
}

export const stormlogSpike: PeakRule = oneRunRule("Stormlog spike z > 2", 10, (baseline, value) =>
  isSpike([...baseline, value], value),
);
