import type { GateRequest, ScenarioRequest } from "../../config/gate-request.ts";
import { DEFAULT_POLICY } from "../../verdict/model/defaults.ts";
import type { Policy } from "../../verdict/model/policy.ts";

/** The policy one scenario is judged by: the defaults, with what the request changes. */
export function policyOf(request: GateRequest, scenario: ScenarioRequest): Policy {
  return {
    ...DEFAULT_POLICY,
    budgets: scenario.budgets,
    horizon: scenario.horizon,
    gatingMetrics: request.gatingMetrics,
    gatingPhases: request.gatingPhases,
    ...(request.relativeMargin === null ? {} : { relativeMargin: request.relativeMargin }),
  };
}
