import { mean } from "../../stats/moments.ts";
import type { MetricSeries } from "../series/series.ts";

/** Quantile of the normal distribution at the level of any leak, 0.3 %, one-sided. */
const SIGNIFICANT = 2.75;
/** Growth from step to step must be this share of the growth over time, else that is the working memory of a step. */
const MIN_SHARE = 0.5;

/** The first value of each step: all at the same phase. */
function atStepBegin({ bytes, steps }: Pick<MetricSeries, "bytes" | "steps">): number[] {
  const values: number[] = [];
  let current = Number.NaN;
  for (let i = 0; i < bytes.length; i++) {
    const [step, value] = [steps?.[i] ?? Number.NaN, bytes[i]!];
    if (!Number.isFinite(step) || !Number.isFinite(value) || step === current) continue;
    values.push(value);
    current = step;
  }
  return values;
}

/**
 * Whether a series of few steps, whose growth over time is known, also grows from step to step. Within a step memory
 * rises and falls by the step's working memory: the host memory of a training with two steps of 2.5 s rose by 140 MiB
 * that were no leak. The order of the values is tested (Mann 1945; Kendall 1975, "Rank correlation methods"), by its
 * normal approximation with the correction for continuity, so that fewer than seven steps show nothing.
 */
export function growsBetweenSteps(series: Pick<MetricSeries, "bytes" | "steps">, growth: number): boolean {
  const values = atStepBegin(series);
  const n = values.length;
  let order = 0;
  for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) order += Math.sign(values[j]! - values[i]!);
  const deviation = Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18);
  if (!(order - 1 > SIGNIFICANT * deviation)) return false;
  const third = Math.ceil(n / 3);
  const risen = mean(values.slice(-third)) - mean(values.slice(0, third));
  // From the middle of the first third to that of the last.
  return (risen * (n - 1)) / (n - third) >= MIN_SHARE * growth;
}
