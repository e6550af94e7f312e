import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import { GateError } from "../core/errors.ts";
import { hideSecrets } from "../core/hide-secrets.ts";
import { packageVersion } from "../core/package-root.ts";
import { countedNotes } from "../core/text.ts";
import { currentCommit } from "../measure/environment/commit.ts";
import { checkWorkingDirectory } from "../measure/session/run-directory.ts";
import { sessionId } from "../measure/session/session.ts";
import { prepareBundle, writeBundle } from "../report/bundle/bundle.ts";
import { unlockBundle } from "../report/bundle/bundle-lock.ts";
import type { GateReport, ScenarioReport } from "../report/documents/model.ts";
import { AcceptanceMatcher } from "./acceptance.ts";
import { checkBaselines } from "./baseline-preflight.ts";
import { cancelled, outOfTime } from "./cost.ts";
import { exitCodeOf, reportVerdict } from "./exit-code.ts";
import { policyInForce, removedScenario, withoutUnverifiablePass } from "./policy-in-force.ts";
import type { GatePorts } from "./ports.ts";
import { judgeScenario } from "./scenario.ts";
import { NO_HOOKS, type ScenarioHooks } from "./scenario-hooks.ts";
import { brokenScenario } from "./scenario-report.ts";

export interface GateOutcome {
  readonly report: GateReport;
  /** Absolute directory of the bundle. */
  readonly bundleDir: string;
  /** Why the bundle is incomplete (disk full, no permission); null when it is complete. */
  readonly bundleError: GateError | null;
}

/**
 * Measure and judge every scenario in turn, and write one bundle.
 * @throws GateError for an error before the first measurement (usage, baseline file named directly, bundle directory)
 */
export async function runGate(
  asked: GateRequest,
  ports: GatePorts,
  hooks: ScenarioHooks = NO_HOOKS,
): Promise<GateOutcome> {
  const session = sessionId(asked.env);
  const started = ports.now();
  const policy = await policyInForce(asked, ports);
  const { request } = policy;
  for (const { cwd } of request.scenarios) checkWorkingDirectory(cwd);
  await checkBaselines(request);
  await prepareBundle(request.bundle, { argv: hideSecrets(request.argv), createdIso: started.toISOString() });
  const commit = await currentCommit(request.scenarios[0]?.cwd ?? ".", request.env);
  const scenarios: ScenarioReport[] = [];
  const warnings: string[] = [...policy.warnings];
  const acceptances = new AcceptanceMatcher(ports.acceptances);
  let runs = 0;
  for (const scenario of request.scenarios) {
    if (cancelled(ports.interrupt)) break;
    if (outOfTime(ports.interrupt)) {
      scenarios.push(brokenScenario(scenario, notReached()).report);
      continue;
    }
    const outcome = await judgeScenario(request, scenario, { session, commit }, ports, hooks).catch(
      (error: unknown) => {
        // A later scenario must not cost the measurements of earlier ones.
        if (error instanceof GateError && ["error", "interrupted"].includes(error.kind))
          return brokenScenario(scenario, error);
        throw error;
      },
    );
    const judged = withoutUnverifiablePass(await acceptances.apply(outcome.report), policy);
    scenarios.push(await withInvocation(judged, request, scenario));
    warnings.push(...outcome.warnings);
    runs += outcome.report.runs.length;
  }
  warnings.push(...(await acceptances.notes()));
  scenarios.push(...policy.removed.map(removedScenario));
  const interrupted = cancelled(ports.interrupt);
  const failing = scenarios.filter(({ word }) => word === "fail");
  const report: GateReport = {
    tool: { name: "stormlog-gate", version: packageVersion(), argv: hideSecrets(request.argv) },
    generated_at_utc: ports.now().toISOString(),
    word: interrupted ? "error" : reportVerdict({ ...policy.reported, scenarios }),
    exit_code: exitCodeOf(scenarios, request.unjudged, interrupted),
    confirmed: failing.length > 0 && failing.every(({ judgement }) => judgement?.confirmed === true),
    session,
    commit,
    scenarios,
    cost: { runs, minutes: (ports.now().getTime() - started.getTime()) / 60_000 },
    warnings: countedNotes(warnings),
    ...policy.reported,
  };
  try {
    await writeBundle(request.bundle, report);
  } catch (error) {
    // The verdict does not depend on its evidence, and the caller needs both.
    if (!(error instanceof GateError)) throw error;
    const warned = { ...report, warnings: [...report.warnings, error.message] };
    return { report: warned, bundleDir: request.bundle, bundleError: error };
  } finally {
    await unlockBundle(request.bundle).catch(() => {});
  }
  return { report, bundleDir: request.bundle, bundleError: null };
}

/** A red report, with how to repeat its runs. */
async function withInvocation(
  report: ScenarioReport,
  request: GateRequest,
  scenario: ScenarioRequest,
): Promise<ScenarioReport> {
  if (report.kind === "missing" || (report.word !== "fail" && report.word !== "error")) return report;
  const { invocationOf } = await import("./invocation.ts");
  const invocation = await invocationOf(request, scenario, report);
  return invocation === null ? report : { ...report, invocation };
}

/** The error of a scenario that was not measured: a missing scenario never passes. */
function notReached(): GateError {
  return new GateError("STEP_TIMEOUT", "timeout-minutes was over before this scenario was measured", {
    kind: "error",
    hint: "Raise timeout-minutes, or measure the scenarios in several jobs.",
  });
}
