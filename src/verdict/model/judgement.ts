import type { DriftClass } from "../../analysis/series/document.ts";
import { assertNever } from "../../core/errors.ts";
import type { Metric } from "../../telemetry/recording/metrics.ts";

export type CheckVerdict = "pass" | "warn" | "fail" | "unjudged";

/** Which limit a check compares a value with; each is reported separately. */
export type Limit = "budget" | "baseline" | "anchor";

/** Which property of the series is checked. */
export type Aspect = "peak" | "growth" | "class" | "oom";

/** A check in a document: one series against one limit. Sizes in bytes; null = not known or not applicable. */
export interface CheckDocument {
  readonly rank: number;
  readonly device: string;
  readonly metric: Metric;
  /** The phase of the program that is judged; absent = the whole run. */
  readonly phase?: string | undefined;
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
  /** Candidate runs that this check still needs to be final. */
  readonly needs_more_runs: number;
  /** Base-commit runs in the candidate's session that a breach still needs to fail. */
  readonly needs_base_runs: number;
  /** A fail that no further run could take back: confirmed by re-runs, or a limit that one run breaches for good. */
  readonly confirmed: boolean;
  readonly improved: boolean;
  /** The deciding check with the same cause; absent = none, or it decides itself. */
  readonly explained_by?: string;
  /** "at 1000000 steps": the sizes are growths projected to the length of a production run. */
  readonly horizon?: string;
  /** Growth that may be a filling cache, unless a run of this length ("38 s") shows it too; absent = no such doubt. */
  readonly cache_unless?: string;
  /** What the C heap gained and keeps, bytes, where that is the growth and what is in use does not go on growing. */
  readonly kept_bytes?: number;
  /** One sentence for the user. */
  readonly reason: string;
}

/** A check of one kind: fields that do not apply to it are null. */
type CheckOf<Kind extends string, Fields extends Partial<CheckDocument>> = Omit<CheckDocument, keyof Fields> &
  Fields & { readonly kind: Kind };

interface NoClass {
  readonly candidate_class: null;
  readonly baseline_class: null;
}

/** The peak against the peaks of the baseline, or of the release anchor. */
type PeakCheck = CheckOf<"peak", NoClass & { readonly aspect: "peak"; readonly limit: Exclude<Limit, "budget"> }>;

/** The growth against the growth of the baseline's runs. */
type GrowthCheck = CheckOf<"growth", NoClass & { readonly aspect: "growth"; readonly limit: "baseline" }>;

/** The drift class against the class of the baseline's runs; its sizes are growths. */
export type ClassCheck = CheckOf<
  "class",
  { readonly aspect: "class"; readonly limit: "baseline"; readonly threshold_bytes: null; readonly mde_bytes: null }
>;

/** Whether a run of the candidate ran out of memory. */
type OutOfMemoryCheck = CheckOf<
  "oom",
  NoClass & {
    readonly aspect: "oom";
    readonly limit: "budget";
    readonly baseline_bytes: null;
    readonly threshold_bytes: null;
    readonly mde_bytes: null;
  }
>;

/** The peak against an absolute budget. */
type BudgetCheck = CheckOf<
  "budget",
  NoClass & {
    readonly aspect: "peak";
    readonly limit: "budget";
    readonly baseline_bytes: null;
    readonly mde_bytes: null;
  }
>;

export type Check = PeakCheck | GrowthCheck | ClassCheck | OutOfMemoryCheck | BudgetCheck;

/** Whether a check fails a scenario even when the command failed too: the run used too much before it failed. */
export function isHardBreach({ kind, verdict }: Check): boolean {
  switch (kind) {
    case "oom":
    case "budget":
      return verdict === "fail";
    case "peak":
    case "growth":
    case "class":
      return false;
    default:
      return assertNever(kind);
  }
}

/** A fingerprint field that differs. */
export interface FingerprintDifference {
  readonly field: string;
  readonly kind: "identity" | "context";
  readonly baseline: string | number | null;
  readonly candidate: string | number | null;
}

/** What a judgement needs before it is final. */
export type NextRuns =
  | { readonly kind: "done" }
  /** Runs of the candidate, and the base runs that are known to be needed after them. */
  | { readonly kind: "candidate-runs"; readonly runs: number; readonly baseRuns: number }
  /** Runs of the base commit in the candidate's session. */
  | { readonly kind: "base-runs"; readonly runs: number };

export const DONE: NextRuns = { kind: "done" };

/** The result of `judge`. */
export interface Judgement {
  readonly verdict: CheckVerdict;
  /** Until it is `done`, the verdict reads as if no more runs came. */
  readonly next: NextRuns;
  /** True when a fail was confirmed by re-runs and, where it was wanted, by the base commit in this session. */
  readonly confirmed: boolean;
  readonly checks: readonly Check[];
  readonly fingerprint: readonly FingerprintDifference[];
  readonly reason: string;
}
