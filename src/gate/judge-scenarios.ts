import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import { GateError } from "../core/errors.ts";
import type { ScenarioReport } from "../report/model/gate-report.ts";
import type { KnownLeaks } from "./known-leaks.ts";
import { AcceptanceMatcher } from "./ports/acceptance.ts";
import type { GatePorts } from "./ports/ports.ts";
import type { PreparedGate } from "./prepare-gate.ts";
import { cancelled, outOfTime } from "./scenario/cost.ts";
import { judgeScenario } from "./scenario/scenario.ts";
import type { ScenarioHooks } from "./scenario/scenario-hooks.ts";
import { brokenScenario } from "./scenario/scenario-report.ts";
import { demoteUnverifiedPass, removedScenarios } from "./settings/effective-policy.ts";

/** The scenarios of a gate, measured and judged. */
export interface JudgedScenarios {
  readonly scenarios: readonly ScenarioReport[];
  readonly runs: number;
  readonly warnings: readonly string[];
}

/** Measure and judge every scenario in turn. An error of one does not cost the measurements of the others. */
export async function judgeScenarios(
  gate: PreparedGate,
  ports: GatePorts,
  hooks: ScenarioHooks,
): Promise<JudgedScenarios> {
  const { policy, request, identity, context } = gate;
  const scenarios: ScenarioReport[] = [];
  const warnings: string[] = [];
  const acceptances = new AcceptanceMatcher(ports.acceptances);
  const knownLeaks = await knownLeaksOf(request, ports);
  let runs = 0;
  for (const scenario of request.scenarios) {
    if (cancelled(ports.interrupt)) break;
    if (outOfTime(ports.interrupt)) {
      scenarios.push(brokenScenario(scenario, notReached()).report);
      continue;
    }
    const outcome = await judgeScenario(request, scenario, identity, ports, hooks, context).catch((error: unknown) => {
      if (error instanceof GateError && ["error", "interrupted"].includes(error.kind))
        return brokenScenario(scenario, error);
      throw error;
    });
    const known = knownLeaks?.apply(outcome.report) ?? outcome.report;
    const judged = demoteUnverifiedPass(await acceptances.apply(known), policy);
    scenarios.push(await withInvocation(judged, gate, scenario));
    warnings.push(...outcome.warnings);
    runs += outcome.report.runs.length;
  }
  warnings.push(...(knownLeaks?.notes() ?? []), ...(await acceptances.notes()));
  return { scenarios: [...scenarios, ...removedScenarios(policy)], runs, warnings };
}

/** A red report, with how to repeat its runs. */
async function withInvocation(
  report: ScenarioReport,
  { request, context: { repositories } }: PreparedGate,
  scenario: ScenarioRequest,
): Promise<ScenarioReport> {
  if (report.kind === "missing" || (report.verdict !== "fail" && report.verdict !== "error")) return report;
  const { invocationOf } = await import("./run/invocation.ts");
  const invocation = await invocationOf(request, scenario, report, await repositories(request.root));
  return invocation === null ? report : { ...report, invocation };
}

/** The entries of `policy.known-leaks`; null without any. */
async function knownLeaksOf(request: GateRequest, ports: GatePorts): Promise<KnownLeaks | null> {
  if (request.knownLeaks.length === 0) return null;
  const { KnownLeaks } = await import("./known-leaks.ts");
  return new KnownLeaks(request.knownLeaks, ports.now().toISOString().slice(0, 10), request);
}

/** The error of a scenario that was not measured: a missing scenario never passes. */
function notReached(): GateError {
  return new GateError("STEP_TIMEOUT", "timeout-minutes was over before this scenario was measured", {
    hint: "Raise timeout-minutes, or measure the scenarios in several jobs.",
  });
}
