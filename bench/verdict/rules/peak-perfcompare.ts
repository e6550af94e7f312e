import { deviation, meanOf } from "./peak-moments.ts";
import { type PeakRule, sampleRule } from "./peak-rule.ts";

/**
 * Welch's t of two samples; 0 where neither varies, as Perfherder's server has it (a division by zero that it catches).
 */
export function welchT(baseline: readonly number[], candidate: readonly number[]): number {
  const error = Math.sqrt(
    deviation(baseline, 1) ** 2 / baseline.length + deviation(candidate, 1) ** 2 / candidate.length,
  );
  return error > 0 ? (meanOf(candidate) - meanOf(baseline)) / error : 0;
}

/** Mozilla's PerfCompare: with six runs on each side, t of at least 3 and means that differ by 2 %. */
export const perfCompare: PeakRule = sampleRule(
  "PerfCompare t ≥ 3 and 2 %, 6 v 6",
  6,
  6,
  (baseline, candidate) => welchT(baseline, candidate) >= 3 && meanOf(candidate) / meanOf(baseline) >= 1.02,
);
