import { median } from "../../stats/order-statistics.ts";
import { formatSize, METRIC } from "../../telemetry/recording/metrics.ts";
import { ANCHOR_CONFIRMATIONS, ANCHOR_MARGIN, LONE_WARNING_SHARE } from "../model/defaults.ts";
import type { Check } from "../model/judgement.ts";
import { pairSeries, type SeriesHistory, type SeriesKey } from "../model/series-index.ts";
import { checkOf } from "./check.ts";
import { peaks } from "./peak-rule.ts";

/** Unjudged anchor checks, one for each gating series, where the anchor cannot be compared. */
export function anchorUnjudged(
  candidate: readonly SeriesHistory[],
  gates: (key: SeriesKey) => boolean,
  why: string,
): readonly Check[] {
  return candidate
    .filter(({ key }) => gates(key))
    .map(({ key, runs }) =>
      checkOf(key, {
        aspect: "peak",
        limit: "anchor",
        gating: true,
        verdict: "unjudged",
        candidate_bytes: peaks(runs)[0]?.value ?? null,
        reason: why,
      }),
    );
}

/**
 * Slow creep: the peak against that of the last release, with one margin for the sum of all changes since. Regressions
 * that are too small for the baseline's margin add up here. Two runs above the limit are a breach.
 */
export function anchorRule(
  candidate: readonly SeriesHistory[],
  anchor: readonly SeriesHistory[],
  gates: (key: SeriesKey) => boolean,
): readonly Check[] {
  return pairSeries(candidate, anchor).flatMap((pair): Check[] => {
    const { key } = pair;
    const base = { aspect: "peak", limit: "anchor", gating: gates(key) } as const;
    const values = peaks(pair.candidate).map(({ value }) => value);
    const anchors = peaks(pair.baseline).map(({ value }) => value);
    const first = values[0];
    if (first === undefined && anchors.length === 0) return [];
    if (first === undefined || anchors.length === 0) {
      return [
        checkOf(key, {
          ...base,
          verdict: "unjudged",
          candidate_bytes: first ?? null,
          baseline_bytes: anchors.length === 0 ? null : median(anchors),
          reason:
            first === undefined
              ? "the anchor has this series, but the candidate does not"
              : "the anchor does not have this series",
        }),
      ];
    }
    const level = median(anchors);
    const margin = Math.max(METRIC[key.metric].peakFloorBytes, ANCHOR_MARGIN * Math.abs(level));
    const threshold = level + margin;
    const looked = values.slice(0, ANCHOR_CONFIRMATIONS);
    const clean = looked.find((value) => value <= threshold);
    const value = clean ?? median(looked);
    const missing = clean === undefined ? ANCHOR_CONFIRMATIONS - looked.length : 0;
    const singleRunMargin = LONE_WARNING_SHARE * Math.abs(level);
    const size = (bytes: number, format?: "delta"): string => formatSize(key.metric, bytes, format);
    const against = `peak ${size(value)} is ${size(value - level, "delta")} from the release anchor's ${size(level)} (limit ${size(threshold)})`;
    const compared = {
      ...base,
      candidate_bytes: value,
      baseline_bytes: level,
      threshold_bytes: threshold,
      mde_bytes: Math.ceil(margin),
    };
    if (clean !== undefined)
      return [checkOf(key, { ...compared, verdict: "pass", improved: value < level - margin, reason: against })];
    return [
      checkOf(key, {
        ...compared,
        verdict: base.gating ? "fail" : missing === 0 || value > threshold + singleRunMargin ? "warn" : "pass",
        needs_more_runs: missing,
        confirmed: base.gating && missing === 0,
        reason: `${against}, above it in ${looked.length} of ${ANCHOR_CONFIRMATIONS} runs`,
      }),
    ];
  });
}
