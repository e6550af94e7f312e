import type { MeasuredRun } from "../analysis/measurements.ts";
import { type JudgeInput, judge } from "./judge.ts";
import { DONE, type NextRuns } from "./model/judgement.ts";
import { nextRuns } from "./model/judgement-document.ts";

/** Up to this many runs are named as missing. */
const MAX_MISSING_RUNS = 20;

/** The runs that a verdict needs besides those made, if each is like the last of its kind. */
export function missingRuns(input: JudgeInput): NextRuns {
  const { candidate, baseline, baseRuns = [] } = input;
  const last = candidate.runs.at(-1);
  const base = baseRuns.at(-1) ?? baseline?.runs.at(-1) ?? last;
  if (last === undefined || base === undefined) return DONE;
  const more: Record<"candidate" | "base", MeasuredRun[]> = { candidate: [], base: [] };
  for (let made = 0; made < MAX_MISSING_RUNS; made += 1) {
    const { next } = judge({
      ...input,
      candidate: { ...candidate, runs: [...candidate.runs, ...more.candidate] },
      baseRuns: [...baseRuns, ...more.base],
    });
    if (next.kind === "done") break;
    if (next.kind === "candidate-runs") more.candidate.push(last);
    else more.base.push({ ...base, session: last.session });
  }
  return nextRuns(more.candidate.length, more.base.length);
}
