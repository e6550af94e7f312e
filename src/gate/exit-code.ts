import type { UnjudgedMode } from "../config/gate-request.ts";
import { assertNever } from "../core/errors.ts";
import { ExitCode } from "../core/exit-codes.ts";
import type { GateReport, ScenarioReport, Verdict } from "../report/documents/model.ts";
import { isHardBreach } from "../verdict/judgement.ts";

/** Worst first: an error says that the gate could not do its work, so it hides no fail but comes before every softer word. */
const ORDER: readonly Verdict[] = ["fail", "error", "unjudged", "warn", "pass"];

/** The word of the whole invocation: the worst of its scenarios; no scenario at all is unjudged, never pass. */
export function overallVerdict(words: readonly Verdict[]): Verdict {
  return ORDER.find((word) => words.includes(word)) ?? "unjudged";
}

/**
 * The word of a report by what stands in it: that of its scenarios, and no pass while it changes the gate's own settings and nobody
 * accepted that.
 */
export function reportVerdict(
  report: Pick<GateReport, "policy_changes" | "policy_accepted"> & {
    readonly scenarios: readonly Pick<ScenarioReport, "word">[];
  },
): Verdict {
  const words = report.scenarios.map(({ word }) => word);
  const open = (report.policy_changes?.length ?? 0) > 0 && report.policy_accepted === undefined;
  return overallVerdict(open && words.length > 0 ? [...words, "warn"] : words);
}

/**
 * Whether a fail is one that a failed command cannot excuse: out of memory or a breached budget. These come before a
 * command error in the order of exit codes; a relative breach comes after it. What somebody accepted is no fail any more.
 */
export function failsByBudgetOrOom(report: ScenarioReport): boolean {
  if (report.accepted !== undefined) return false;
  return (report.judgement?.checks ?? []).some(isHardBreach);
}

/**
 * Exit status of `run` by the contract's order: 130, 4 by OOM or breached budget, 1, 4, 6, 0. A warning passes: it is
 * shown, and a job must not turn red for it.
 */
export function exitCodeOf(
  scenarios: readonly ScenarioReport[],
  unjudged: UnjudgedMode,
  interrupted: boolean,
): ExitCode {
  if (interrupted) return ExitCode.interrupted;
  if (scenarios.some(failsByBudgetOrOom)) return ExitCode.gateFailed;
  if (scenarios.some(({ word }) => word === "error")) return ExitCode.error;
  const word = overallVerdict(scenarios.map((scenario) => scenario.word));
  switch (word) {
    case "fail":
      return ExitCode.gateFailed;
    case "error":
      return ExitCode.error;
    case "unjudged":
      return unjudged === "fail" ? ExitCode.unjudged : ExitCode.pass;
    case "warn":
    case "pass":
      return ExitCode.pass;
    default:
      return assertNever(word);
  }
}
