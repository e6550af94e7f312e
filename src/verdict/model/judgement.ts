import * as v from "valibot";
import { count, driftClass, list, metric, number, ofRanks, text } from "../../analysis/series/document.ts";
import { assertNever } from "../../core/errors.ts";
import type { DeepReadonly } from "../../core/json.ts";

const checkVerdict = v.picklist(["pass", "warn", "fail", "unjudged"]);
export type CheckVerdict = v.InferOutput<typeof checkVerdict>;

/** A check in a document: one series against one limit. Sizes in bytes; null = not known or not applicable. */
const CheckSchema = v.object({
  rank: count,
  device: text,
  metric,
  /** The phase of the program that is judged; absent = the whole run. */
  phase: v.exactOptional(text),
  /** Which property of the series is checked. */
  aspect: v.picklist(["peak", "growth", "class", "oom"]),
  /** Which limit a check compares a value with; each is reported separately. */
  limit: v.picklist(["budget", "baseline", "anchor"]),
  /** Whether this check can fail the gate; the others warn. */
  gating: v.boolean(),
  verdict: checkVerdict,
  candidate_bytes: v.nullable(number),
  baseline_bytes: v.nullable(number),
  threshold_bytes: v.nullable(number),
  /** Smallest change this check could have found. */
  mde_bytes: v.nullable(number),
  candidate_class: v.nullable(driftClass),
  baseline_class: v.nullable(driftClass),
  /** Candidate runs that this check still needs to be final. */
  needs_more_runs: count,
  /** Base-commit runs in the candidate's session that a breach still needs to fail. */
  needs_base_runs: count,
  improved: v.boolean(),
  /** A fail that no further run could take back: confirmed by re-runs, or a limit that one run breaches for good. */
  confirmed: v.boolean(),
  /** The deciding check with the same cause; absent = none, or it decides itself. */
  explained_by: v.exactOptional(text),
  /** "at 1000000 steps": the sizes are growths projected to the length of a production run. */
  horizon: v.exactOptional(text),
  /** Growth that may be a filling cache, unless a run of this length ("38 s") shows it too; absent = no such doubt. */
  cache_unless: v.exactOptional(text),
  /** What the C heap gained and keeps, bytes, where that is the growth and what is in use does not go on growing. */
  kept_bytes: v.exactOptional(number),
  /** The role that has most of the growth, where it is not that of the only process; absent = none, or not known. */
  process: v.exactOptional(text),
  /** One sentence for the user. */
  reason: text,
});
export type CheckDocument = DeepReadonly<v.InferOutput<typeof CheckSchema>>;
export type Limit = CheckDocument["limit"];
export type Aspect = CheckDocument["aspect"];

const scalar = v.union([text, number, v.null()]);
/** A fingerprint field that differs. */
const DifferenceSchema = v.object({
  field: text,
  kind: v.picklist(["identity", "context"]),
  baseline: scalar,
  candidate: scalar,
});
export type FingerprintDifference = DeepReadonly<v.InferOutput<typeof DifferenceSchema>>;

/** A judgement as documents contain it, and `judge` prints it. */
export const JudgementSchema = v.object({
  verdict: checkVerdict,
  final: v.boolean(),
  /** True when a fail was confirmed by re-runs and, where it was wanted, by the base commit in this session. */
  confirmed: v.boolean(),
  checks: ofRanks(CheckSchema),
  fingerprint: list(DifferenceSchema),
  needs_more_runs: count,
  needs_base_runs: count,
  reason: text,
});
export type JudgementDocument = DeepReadonly<v.InferOutput<typeof JudgementSchema>>;

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

/** What a judgement needs before it is final. */
export type NextRuns =
  | { readonly kind: "done" }
  /** Runs of the candidate, and the base runs that are known to be needed after them. */
  | { readonly kind: "candidate-runs"; readonly runs: number; readonly baseRuns: number }
  /** Runs of the base commit in the candidate's session. */
  | { readonly kind: "base-runs"; readonly runs: number };

export const DONE: NextRuns = { kind: "done" };

/** The result of `judge`. */
export interface Judgement extends Pick<JudgementDocument, "verdict" | "confirmed" | "fingerprint" | "reason"> {
  /** Until it is `done`, the verdict reads as if no more runs came. */
  readonly next: NextRuns;
  readonly checks: readonly Check[];
}
