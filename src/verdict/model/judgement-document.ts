import { assertNever } from "../../core/errors.ts";
import {
  type Check,
  type CheckDocument,
  DONE,
  type Judgement,
  type JudgementDocument,
  type NextRuns,
} from "./judgement.ts";

function kindOf({ aspect, limit }: CheckDocument): Check["kind"] {
  if (aspect === "oom") return "oom";
  return limit === "budget" ? "budget" : aspect;
}

/** A check from its document. A field that its kind leaves null, and another release filled, is passed on as it is. */
export function readCheck(document: CheckDocument): Check {
  return { ...document, kind: kindOf(document) } as Check;
}

export function checkDocument({ kind: _, ...document }: Check): CheckDocument {
  return document;
}

function needsOf(next: NextRuns): { readonly candidate: number; readonly base: number } {
  switch (next.kind) {
    case "done":
      return { candidate: 0, base: 0 };
    case "candidate-runs":
      return { candidate: next.runs, base: next.baseRuns };
    case "base-runs":
      return { candidate: 0, base: next.runs };
    default:
      return assertNever(next);
  }
}

/** What is needed next, from the runs of either kind that are. */
export function nextRuns(candidate: number, base: number): NextRuns {
  if (candidate > 0) return { kind: "candidate-runs", runs: candidate, baseRuns: base };
  return base > 0 ? { kind: "base-runs", runs: base } : DONE;
}

export function judgementDocument({ next, checks, ...judgement }: Judgement): JudgementDocument {
  const { candidate, base } = needsOf(next);
  return {
    verdict: judgement.verdict,
    final: next.kind === "done",
    confirmed: judgement.confirmed,
    checks: checks.map(checkDocument),
    fingerprint: judgement.fingerprint,
    needs_more_runs: candidate,
    needs_base_runs: base,
    reason: judgement.reason,
  };
}

export function readJudgement(document: JudgementDocument): Judgement {
  const { final: _, needs_more_runs: candidate, needs_base_runs: base, checks, ...judgement } = document;
  return { ...judgement, next: nextRuns(candidate, base), checks: checks.map(readCheck) };
}
