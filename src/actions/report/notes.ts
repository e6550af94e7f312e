import { firstReasons, plural } from "../../core/text.ts";
import type { Verdict } from "../../report/model/gate-report.ts";
import type { HeldClaims } from "./claims.ts";

/** GitHub's own record of a run that measured. */
export interface RunRecord {
  readonly runId: number;
  /** `success`, `failure`, …; null while it runs. */
  readonly conclusion: string | null;
  /** Jobs that did not succeed, and all; null when GitHub did not report them. */
  readonly jobs: { readonly failed: number; readonly all: number } | null;
  /** True when its workflow file was controlled by someone without write permission. */
  readonly untrusted: boolean;
}

function recorded({ runId, conclusion, jobs }: RunRecord): string {
  const state = conclusion === null ? "not finished" : /^[a-z_]{1,30}$/.test(conclusion) ? conclusion : "unknown";
  const failed = jobs === null || jobs.failed === 0 ? "" : `; ${jobs.failed} of its ${jobs.all} jobs did not succeed`;
  return `GitHub recorded run ${runId} as ${state.replaceAll("_", " ")}${failed}`;
}

/** Notes on the verdict's origin: always for an untrusted run, for our own only when GitHub's record contradicts it. */
export function recordNotes(record: RunRecord, verdict: Verdict): readonly string[] {
  const contradicted = (verdict === "pass" || verdict === "warn") && record.conclusion !== "success";
  const failedJobs = (verdict === "pass" || verdict === "warn") && (record.jobs?.failed ?? 0) > 0;
  if (record.untrusted) {
    const claim = "The numbers were reported by a run of the fork.";
    const doubt = contradicted || failedJobs ? ` It reports ${verdict}, which contradicts this. Check the run.` : "";
    return [`${claim} ${recorded(record)}.${doubt}`];
  }
  if (contradicted || failedJobs) return [`The measurements result in ${verdict}, but ${recorded(record)}.`];
  return [];
}

/** Sections that were refused, and why. */
export function refusedNote(refused: readonly string[]): string {
  const were = plural(refused.length, "artifact", "artifacts");
  const counted = refused.length === 1 ? "was refused and counts" : "were refused and count";
  return `${were} named like a section of this gate ${counted} as a missing job: ${firstReasons(refused)}.`;
}

/**
 * One note per kind of distrusted claim; the job's log has the details.
 * @param doubts with why artifacts were refused, one sentence each; outside text
 */
export function doubtNotes(
  { refused, unaccepted, embellished }: Omit<HeldClaims, "sections"> & { readonly refused: readonly string[] },
  who: "job" | "leg" = "job",
): readonly string[] {
  return [
    ...(refused.length > 0 ? [refusedNote(refused)] : []),
    ...(unaccepted > 0
      ? ["Ignored an acceptance by someone without write permission; the original verdict stands."]
      : []),
    ...(embellished > 0
      ? [`A ${who} reported a better verdict than its own checks support; the checks were used.`]
      : []),
  ];
}
