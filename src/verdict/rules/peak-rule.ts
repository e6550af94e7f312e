import { median } from "../../stats/order-statistics.ts";
import { METRIC } from "../../telemetry/recording/metrics.ts";
import { CONFIRMED_SPREADS, LONE_WARNING_SHARE } from "../model/defaults.ts";
import type { Check } from "../model/judgement.ts";
import type { Policy } from "../model/policy.ts";
import { finite, knownValues, type SeriesKey, type SeriesRun } from "../model/series-index.ts";
import { relativeCheck } from "./relative-check.ts";
import { judgeRelative, type RelativeContext } from "./relative-rule.ts";
import type { SessionValue } from "./sessions.ts";

/** The known peaks of a series, bytes, in the order of the runs. */
export function peaks(runs: readonly SeriesRun[]): readonly SessionValue[] {
  return knownValues(runs, (series) => finite(series.peak_bytes));
}

/** How far a peak of this metric may lie above the baseline's centre, bytes. */
export function peakMargin(key: SeriesKey, policy: Policy): (centre: number, spread: number) => number {
  const floor = METRIC[key.metric].peakFloorBytes;
  return (centre, spread) => Math.max(floor, policy.relativeMargin * Math.abs(centre), policy.spreadFactor * spread);
}

/** The peak of one series against the baseline's peaks. The candidate has at least one known peak. */
export function peakRule(context: RelativeContext): Check {
  const candidate = peaks(context.candidate).map(({ value }) => value);
  const baseline = peaks(context.baseline);
  const outcome = judgeRelative(context, {
    candidate,
    baseline,
    singleRunMargin: LONE_WARNING_SHARE * Math.abs(median(baseline.map(({ value }) => value))),
    margin: peakMargin(context.key, context.policy),
    confirmedSpreads: CONFIRMED_SPREADS,
  });
  return relativeCheck(outcome, context, { aspect: "peak", name: "peak", first: candidate[0] ?? Number.NaN });
}
