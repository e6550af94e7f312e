import type { Measurements } from "../../analysis/measurements.ts";
import { median } from "../../stats/order-statistics.ts";
import { spread } from "../../stats/spread.ts";
import { formatSize, METRIC } from "../../telemetry/recording/metrics.ts";
import type { Budget, Policy } from "../model/policy.ts";
import { describeSeries, indexSeries, type SeriesHistory, type SeriesKey, sameSeries } from "../model/series-index.ts";
import { peakMargin, peaks } from "./peak-rule.ts";

/** Why a budget is likely to fail by chance: below the highest baseline peak plus a margin. Null when it is not. */
export function budgetNoise(
  key: SeriesKey,
  budget: Budget,
  policy: Policy,
  baseline: readonly SeriesHistory[],
): string | null {
  const history = baseline.find((one) => sameSeries(one.key, key));
  const known = peaks(history?.runs ?? []).map(({ value }) => value);
  if (known.length < policy.minBaselineRuns) return null;
  const margin = peakMargin(key, policy)(median(known), spread(known, METRIC[key.metric].quantumBytes));
  const needed = Math.max(...known) + margin;
  if (budget.bytes >= needed) return null;
  return `the budget is inside the noise of the baseline; ${formatSize(key.metric, Math.ceil(needed))} would be above it`;
}

/** Warnings about a policy that the baseline shows to be unwise: budgets inside the noise band. One sentence each. */
export function lintPolicy(policy: Policy, baseline: Measurements | null): readonly string[] {
  const histories = indexSeries(baseline);
  return policy.budgets.flatMap((budget) =>
    histories
      .filter(({ key }) => key.metric === budget.metric && key.phase === undefined)
      .flatMap(({ key }) => {
        const noise = budgetNoise(key, budget, policy, histories);
        return noise === null
          ? []
          : [`budget ${budget.metric}=${formatSize(budget.metric, budget.bytes)}, ${describeSeries(key)}: ${noise}`];
      }),
  );
}
