import normalQuantile from "@stdlib/stats-base-dists-normal-quantile";
import tQuantile from "@stdlib/stats-base-dists-t-quantile";
import { deviation, meanOf, quantile } from "./peak-moments.ts";
import { oneRunRule, type PeakRule } from "./peak-rule.ts";

/** Upper boundaries of Bencher's thresholds (`lib/bencher_boundary`); null where it sets none and so never alerts. */

/** The normal's inverse at `boundary`, with the baseline's mean and deviation. */
export function zBoundary(baseline: readonly number[], boundary: number): number | null {
  const spread = deviation(baseline, 1);
  return spread > 0 ? normalQuantile(boundary, meanOf(baseline), spread) : null;
}

/** Student's, for one further value: scale s √(1 + 1/n), n - 1 degrees of freedom. */
export function tBoundary(baseline: readonly number[], boundary: number): number | null {
  const n = baseline.length;
  const spread = deviation(baseline, 1);
  return spread > 0 ? meanOf(baseline) + tQuantile(boundary, n - 1) * spread * Math.sqrt(1 + 1 / n) : null;
}

/** Median plus `factor` interquartile ranges. */
export function iqrBoundary(baseline: readonly number[], factor: number): number {
  return quantile(baseline, 0.5) + factor * (quantile(baseline, 0.75) - quantile(baseline, 0.25));
}

const beyond = (value: number, boundary: number | null): boolean => boundary !== null && value > boundary;

export const bencherZ = (history: number): PeakRule =>
  oneRunRule(`Bencher z .99, ${history} runs`, history, (baseline, value) => beyond(value, zBoundary(baseline, 0.99)));

export const bencherT: PeakRule = oneRunRule("Bencher t .99", 10, (baseline, value) =>
  beyond(value, tBoundary(baseline, 0.99)),
);

export const bencherIqr: PeakRule = oneRunRule("Bencher IQR, k = 3", 10, (baseline, value) =>
  beyond(value, iqrBoundary(baseline, 3)),
);
