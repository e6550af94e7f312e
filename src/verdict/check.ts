import type { Check } from "./judgement.ts";
import type { SeriesKey } from "./series-index.ts";

/** A check of one series: what most checks have in common, and what a rule states of its own. */
export function checkOf(
  key: SeriesKey,
  parts: Pick<Check, "aspect" | "limit" | "gating" | "verdict" | "reason"> & Partial<Check>,
): Check {
  return {
    rank: key.rank,
    device: key.device,
    metric: key.metric,
    candidate_bytes: null,
    baseline_bytes: null,
    threshold_bytes: null,
    mde_bytes: null,
    candidate_class: null,
    baseline_class: null,
    needs_more_runs: 0,
    needs_base_runs: 0,
    confirmed: false,
    improved: false,
    ...parts,
  };
}
