import type { GateRequest } from "../config/gate-request.ts";
import { packageVersion } from "../core/package-root.ts";
import { hideSecrets } from "../core/process/hide-secrets.ts";
import { countedNotes } from "../core/text.ts";
import { gitWarnings } from "../git/git.ts";
import type { GateReport, ScenarioReport } from "../report/model/gate-report.ts";
import { exitCodeOf, overallVerdict, reportVerdict, scalingVerdicts } from "./exit-code.ts";
import type { JudgedScenarios } from "./judge-scenarios.ts";
import type { GatePorts } from "./ports/ports.ts";
import type { PreparedGate } from "./prepare-gate.ts";
import { cancelled } from "./scenario/cost.ts";

/** What the gate found. @param startedMs of `performance.now()` */
export async function composeReport(
  { policy, request, identity, context }: PreparedGate,
  judged: JudgedScenarios,
  ports: GatePorts,
  startedMs: number,
): Promise<GateReport> {
  const inBundle = context.bundle.changes();
  const scenarios = judged.scenarios.map((scenario, at) =>
    at > 0 || inBundle.length === 0
      ? scenario
      : { ...scenario, interference: [...(scenario.interference ?? []), ...inBundle] },
  );
  const interrupted = cancelled(ports.interrupt);
  const scaling = await scalingOver(request, scenarios);
  const notVaried =
    scaling === null && request.scalingLimits !== null
      ? ["policy.scaling was not checked: this run varies nothing (--vary NAME=v1,v2,…)"]
      : [];
  const others = scalingVerdicts(scaling ?? undefined);
  const failing = scenarios.filter(({ verdict }) => verdict === "fail");
  const { isolation } = context.wall;
  const exposure = ports.exposure?.(isolation) ?? null;
  const first = exposure === null ? notVaried : [...notVaried, exposure];
  const warnings = [...first, ...policy.warnings, ...judged.warnings, ...gitWarnings()];
  return {
    tool: { name: "stormlog-gate", version: packageVersion(), argv: hideSecrets(request.argv) },
    generated_at_utc: ports.now().toISOString(),
    verdict: interrupted ? "error" : overallVerdict([reportVerdict({ ...policy.reported, scenarios }), ...others]),
    exit_code: exitCodeOf(scenarios, request.unjudged, interrupted, others),
    confirmed: failing.length > 0 && failing.every(({ judgement }) => judgement?.confirmed === true),
    ...identity,
    isolation,
    scenarios,
    cost: { runs: judged.runs, minutes: (performance.now() - startedMs) / 60_000 },
    warnings: countedNotes(warnings),
    ...policy.reported,
    ...(scaling === null ? {} : { scaling }),
  };
}

/** How the peak grows with the values of `--vary`; null without it. */
async function scalingOver(
  request: GateRequest,
  scenarios: readonly ScenarioReport[],
): Promise<NonNullable<GateReport["scaling"]> | null> {
  if (request.scenarios.every(({ varied }) => varied === undefined)) return null;
  const { scalingOf } = await import("./scaling.ts");
  return scalingOf(request, scenarios);
}
