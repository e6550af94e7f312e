import { formatSize, metricLabel } from "../../telemetry/recording/metrics.ts";
import type { Check } from "../model/judgement.ts";
import type { Policy } from "../model/policy.ts";
import { CUT_EVERYWHERE, isWhole, type SeriesHistory } from "../model/series-index.ts";
import { checkOf } from "./check.ts";
import { budgetNoise } from "./config-lint.ts";
import { peaks } from "./peak-rule.ts";

/** Absolute budgets: one run of any rank above is enough. A metric that was not measured is unjudged, never passed. */
export function budgetRule(
  policy: Policy,
  candidate: readonly SeriesHistory[],
  baseline: readonly SeriesHistory[],
): readonly Check[] {
  return policy.budgets.flatMap((budget): Check[] => {
    const common = { aspect: "peak", limit: "budget", gating: true, threshold_bytes: budget.bytes } as const;
    const size = (bytes: number): string => formatSize(budget.metric, bytes);
    const unknown = (key: SeriesHistory["key"], what: string) =>
      checkOf(key, {
        ...common,
        verdict: "unjudged",
        reason: `the budget of ${size(budget.bytes)} for ${metricLabel(budget.metric)} cannot be checked: ${what}`,
      });
    const series = candidate.filter(({ key }) => key.metric === budget.metric && key.phase === undefined);
    if (series.length === 0) {
      return [
        unknown(
          { rank: 0, device: budget.metric.startsWith("host") ? "host" : "*", metric: budget.metric },
          "it was not measured",
        ),
      ];
    }
    return series.map(({ key, runs }) => {
      const known = peaks(runs).map(({ value }) => value);
      if (known.length === 0) return unknown(key, "no run has a known peak");
      const highest = Math.max(...known);
      const tight = budgetNoise(key, budget, policy, baseline);
      const note = tight === null ? "" : ` (${tight})`;
      const over = highest > budget.bytes;
      const distance = size(Math.abs(highest - budget.bytes));
      if (!over && peaks(runs.filter(isWhole)).length === 0) {
        return checkOf(key, {
          ...common,
          verdict: "unjudged",
          candidate_bytes: highest,
          needs_more_runs: 1,
          reason: CUT_EVERYWHERE,
        });
      }
      return checkOf(key, {
        ...common,
        verdict: over ? "fail" : "pass",
        confirmed: over,
        candidate_bytes: highest,
        reason: `peak ${size(highest)} is ${distance} ${over ? "over" : "under"} the budget of ${size(budget.bytes)}${note}`,
      });
    });
  });
}
