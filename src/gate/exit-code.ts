import type { UnjudgedMode } from "../config/gate-request.ts";
import { assertNever } from "../core/errors.ts";
import { ExitCode } from "../core/exit-codes.ts";
import {
  type GateReport,
  type ScenarioReport,
  VERDICTS_BY_URGENCY,
  type Verdict,
} from "../report/model/gate-report.ts";
import { isHardBreach } from "../verdict/model/judgement.ts";

/** The verdict of the whole invocation: the worst of its scenarios. Without any scenario it is unjudged, never pass. */
export function overallVerdict(verdicts: readonly Verdict[]): Verdict {
  return VERDICTS_BY_URGENCY.find((verdict) => verdicts.includes(verdict)) ?? "unjudged";
}

/**
 * The worst verdict of the scenarios and of the limits on scaling; at least a warning while a change of the gate's
 * settings is not accepted.
 */
export function reportVerdict(
  report: Pick<GateReport, "policy_changes" | "policy_accepted" | "scaling"> & {
    readonly scenarios: readonly Pick<ScenarioReport, "verdict">[];
  },
): Verdict {
  const verdicts = report.scenarios.map(({ verdict }) => verdict);
  const open = (report.policy_changes?.length ?? 0) > 0 && report.policy_accepted === undefined;
  const own = overallVerdict(open && verdicts.length > 0 ? [...verdicts, "warn"] : verdicts);
  return overallVerdict([own, ...scalingVerdicts(report.scaling)]);
}

/** The verdicts of the limits on how peaks grow with a value; none without limits. */
export function scalingVerdicts(scaling: GateReport["scaling"]): readonly Verdict[] {
  return (scaling ?? []).flatMap(({ verdict }) => verdict ?? []);
}

/** Whether a scenario fails, unaccepted, by out of memory or a breached budget, which come before a command error. */
export function failsByBudgetOrOom(report: ScenarioReport): boolean {
  if (report.accepted !== undefined) return false;
  return (report.judgement?.checks ?? []).some(isHardBreach);
}

/** What the change itself made unjudged, as a service that answers errors: no setting may let it pass. */
const isOfChange = ({ kind, caused_by }: ScenarioReport): boolean => caused_by !== undefined || kind === "failed";

/**
 * Exit status of `run` by the contract's order: 130, 4 by OOM or breached budget, 1, 4, 6, 0. A warning passes.
 * @param others verdicts on all scenarios together
 */
export function exitCodeOf(
  scenarios: readonly ScenarioReport[],
  unjudged: UnjudgedMode,
  interrupted: boolean,
  others: readonly Verdict[] = [],
): ExitCode {
  if (interrupted) return ExitCode.interrupted;
  if (scenarios.some(failsByBudgetOrOom)) return ExitCode.gateFailed;
  if (scenarios.some(({ verdict }) => verdict === "error")) return ExitCode.error;
  const verdict = overallVerdict([...scenarios.map((scenario) => scenario.verdict), ...others]);
  switch (verdict) {
    case "fail":
      return ExitCode.gateFailed;
    case "error":
      return ExitCode.error;
    case "unjudged":
      return unjudged === "fail" || scenarios.some((one) => one.verdict === "unjudged" && isOfChange(one))
        ? ExitCode.unjudged
        : ExitCode.pass;
    case "warn":
    case "pass":
      return ExitCode.pass;
    default:
      return assertNever(verdict);
  }
}
