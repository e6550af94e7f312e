import { plural } from "../core/text.ts";
import type { Verdict } from "../report/model/gate-report.ts";

/** Whether a fail fails the job; advisory only reports it. */
export type GateMode = "advisory" | "blocking";

/** How far a gate has come from advisory to blocking. */
export interface Promotion {
  readonly mode: GateMode;
  /** Clean nights in a row. */
  readonly clean_nights: number;
  /** When it was promoted to blocking, ISO 8601 UTC; null = it was not. */
  readonly promoted_iso: string | null;
}

export const FIRST_NIGHT: Promotion = { mode: "blocking", clean_nights: 0, promoted_iso: null };

/** What the workflow asks for. */
export interface PromotionPolicy {
  readonly mode: GateMode;
  /** Clean nights in a row after which an advisory gate blocks; null = never. */
  readonly promoteAfter: number | null;
}

/**
 * The state after a nightly run. A night without a verdict changes nothing, a failed one resets the count. A promotion
 * lasts until the workflow no longer asks for it; `mode: blocking` is blocking at once.
 */
export function afterSession(before: Promotion, verdict: Verdict, policy: PromotionPolicy, nowIso: string): Promotion {
  const clean =
    verdict === "pass" || verdict === "warn" ? before.clean_nights + 1 : verdict === "fail" ? 0 : before.clean_nights;
  if (policy.mode === "blocking" || policy.promoteAfter === null)
    return { mode: policy.mode, clean_nights: clean, promoted_iso: null };
  const since = before.promoted_iso ?? (clean >= policy.promoteAfter ? nowIso : null);
  return { mode: since === null ? "advisory" : "blocking", clean_nights: clean, promoted_iso: since };
}

/** The mode before this session is counted, which applies to the session itself. */
export function currentMode(before: Promotion, policy: PromotionPolicy): GateMode {
  if (policy.mode === "blocking") return "blocking";
  return policy.promoteAfter !== null && before.promoted_iso !== null ? "blocking" : "advisory";
}

/** One sentence for the log. */
export function promotionText(state: Promotion, policy: PromotionPolicy): string {
  if (policy.mode === "blocking") return "The gate is blocking.";
  if (state.promoted_iso !== null)
    return `The gate is blocking since ${state.promoted_iso}, after clean nights in a row.`;
  const nights = `${plural(state.clean_nights, "clean night")} in a row`;
  return policy.promoteAfter === null
    ? `The gate is advisory (${nights}).`
    : `The gate is advisory: ${nights}, it blocks after ${policy.promoteAfter}.`;
}
