import type { DriftClass } from "../analysis/document.ts";
import type { Metric } from "../telemetry/recording/model.ts";

export type CheckVerdict = "pass" | "warn" | "fail" | "unjudged";

/** Which limit a check holds a value against; each is reported on its own. */
export type Limit = "budget" | "baseline" | "anchor";

/** What of the series is checked. */
export type Aspect = "peak" | "growth" | "class" | "oom";

/** One check of one series against one limit. Sizes in bytes; null = not known or not applicable. */
export interface Check {
  readonly rank: number;
  readonly device: string;
  readonly metric: Metric;
  readonly aspect: Aspect;
  readonly limit: Limit;
  /** Whether this check can fail the gate; the others warn. */
  readonly gating: boolean;
  readonly verdict: CheckVerdict;
  readonly candidate_bytes: number | null;
  readonly baseline_bytes: number | null;
  readonly threshold_bytes: number | null;
  /** Smallest change this check could have found. */
  readonly mde_bytes: number | null;
  readonly candidate_class: DriftClass | null;
  readonly baseline_class: DriftClass | null;
  /** Candidate runs still wanted before this check is final. */
  readonly needs_more_runs: number;
  /** Base-commit runs in the candidate's session still wanted before a breach is red. */
  readonly needs_base_runs: number;
  /** A fail that no further run could take back: confirmed by re-runs, or a limit that one run breaches for good. */
  readonly confirmed: boolean;
  readonly improved: boolean;
  /** One sentence a person understands. */
  readonly reason: string;
}

/** A fingerprint field that differs. */
export interface FingerprintDifference {
  readonly field: string;
  readonly kind: "identity" | "context";
  readonly baseline: string | number | null;
  readonly candidate: string | number | null;
}

/** The answer of `judge`. */
export interface Judgement {
  readonly verdict: CheckVerdict;
  /** False while more runs are wanted; until then the verdict reads as if nothing more came. */
  readonly final: boolean;
  /** True when a fail was confirmed by re-runs and, where it was wanted, by the base commit in this session. */
  readonly confirmed: boolean;
  readonly checks: readonly Check[];
  readonly fingerprint: readonly FingerprintDifference[];
  readonly needs_more_runs: number;
  readonly needs_base_runs: number;
  readonly reason: string;
}
