import type { UnjudgedMode } from "../config/gate-request.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { exitCodeOf, failsByBudgetOrOom } from "../gate/exit-code.ts";
import type { ScenarioReport, Verdict } from "../report/model/gate-report.ts";

/** The first of these that applies, in the order of the contract. */
const BEFORE_ANY_VERDICT = [ExitCode.interrupted, ExitCode.usage, ExitCode.invalidInput] as const;

/**
 * Exit status of a merged verdict: the worst; `others` (interrupted, missing legs) apply under every `unjudged`.
 * @param verdicts on several scenarios together
 */
export function mergedExitCode(
  scenarios: readonly ScenarioReport[],
  others: readonly number[],
  unjudged: UnjudgedMode,
  verdicts: readonly Verdict[] = [],
): ExitCode {
  const first = BEFORE_ANY_VERDICT.find((code) => others.includes(code));
  if (first !== undefined) return first;
  if (scenarios.some(failsByBudgetOrOom)) return ExitCode.gateFailed;
  // In a job where one node fails by its memory and another by its command, the command comes first.
  if (scenarios.some(({ verdict, error }) => error !== null && verdict !== "unjudged")) return ExitCode.error;
  const code = exitCodeOf(scenarios, unjudged, false, verdicts);
  return code === ExitCode.pass && others.includes(ExitCode.unjudged) ? ExitCode.unjudged : code;
}
