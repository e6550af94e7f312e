import type { Check, CheckDocument } from "../model/judgement.ts";
import { readCheck } from "../model/judgement-document.ts";
import type { SeriesKey } from "../model/series-index.ts";

/** A check of one series, from the fields that a rule sets; the others get their defaults. */
export function checkOf(
  key: SeriesKey,
  parts: Pick<CheckDocument, "aspect" | "limit" | "gating" | "verdict" | "reason"> & Partial<CheckDocument>,
): Check {
  const check: CheckDocument = {
    rank: key.rank,
    device: key.device,
    metric: key.metric,
    ...(key.phase === undefined ? {} : { phase: key.phase }),
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
  return readCheck({
    ...check,
    candidate_bytes: wholeBytes(check.candidate_bytes),
    baseline_bytes: wholeBytes(check.baseline_bytes),
    threshold_bytes: wholeBytes(check.threshold_bytes),
    mde_bytes: wholeBytes(check.mde_bytes),
  });
}

/** Bytes are whole; medians of two runs and projected growths need not be. */
function wholeBytes(bytes: number | null): number | null {
  // Adding 0 turns the -0 that rounding a small negative number gives into 0.
  return bytes === null || !Number.isFinite(bytes) ? null : Math.round(bytes) + 0;
}
