import { meanOf } from "./peak-moments.ts";
import { oneRunRule, type PeakRule } from "./peak-rule.ts";

const last = (baseline: readonly number[]): number => baseline.at(-1) ?? Number.NaN;
const pinned = (baseline: readonly number[]): number => baseline[0] ?? Number.NaN;

/** github-action-benchmark: current over previous above a ratio; 200 % is its default. */
export const ratioOverLast = (percent: number): PeakRule =>
  oneRunRule(`ratio ${percent} % of the last run`, 1, (baseline, value) => value / last(baseline) > percent / 100);

/**
 * pytest-memray's `fail_on_increase`: one byte more than the last success. A success is never above the one before, so
 * what is kept is the least of the runs so far.
 */
export const anyIncrease: PeakRule = oneRunRule("any increase", 10, (baseline, value) => value > Math.min(...baseline));

/** A value pinned once and kept in the repository, with a tolerance (PyTorch's and Megatron-LM's CI). */
export const overPinned = (percent: number): PeakRule =>
  oneRunRule(
    `+${percent} % over a pinned value`,
    1,
    (baseline, value) => value > pinned(baseline) * (1 + percent / 100),
  );

/** A tolerance on the mean of the baseline, as CodSpeed's default of 10 %. */
export const overMean = (percent: number): PeakRule =>
  oneRunRule(`+${percent} % over the mean`, 10, (baseline, value) => value > meanOf(baseline) * (1 + percent / 100));
