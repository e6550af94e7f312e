import type { GateRequest } from "../config/gate-request.ts";
import { GateError } from "../core/errors.ts";
import { packageVersion } from "../core/package-root.ts";
import { currentCommit } from "../measure/commit.ts";
import { checkWorkingDirectory } from "../measure/run-directory.ts";
import { sessionId } from "../measure/session.ts";
import { prepareBundle, writeBundle } from "../report/bundle.ts";
import { unlockBundle } from "../report/bundle-lock.ts";
import type { GateReport, ScenarioReport } from "../report/model.ts";
import { checkBaselines } from "./baseline-preflight.ts";
import { exitCodeOf, overallWord } from "./exit-code.ts";
import type { GatePorts } from "./ports.ts";
import { judgeScenario } from "./scenario.ts";
import { brokenScenario } from "./scenario-report.ts";

export interface GateOutcome {
  readonly report: GateReport;
  /** Absolute directory of the bundle. */
  readonly bundleDir: string;
  /** Why the bundle is not whole (disk full, no permission); null when it is. */
  readonly bundleError: GateError | null;
}

/**
 * The gate: every scenario is measured and judged, one after the other on a quiet machine, then one bundle tells the story.
 * @throws GateError for what is wrong before anything was measured (usage, baseline file named directly, bundle directory)
 */
export async function runGate(request: GateRequest, ports: GatePorts): Promise<GateOutcome> {
  const session = sessionId(request.env);
  const started = ports.now();
  for (const { cwd } of request.scenarios) checkWorkingDirectory(cwd);
  await checkBaselines(request);
  await prepareBundle(request.bundle, { argv: request.argv, createdIso: started.toISOString() });
  const commit = await currentCommit(request.scenarios[0]?.cwd ?? ".", request.env);
  const scenarios: ScenarioReport[] = [];
  const warnings: string[] = [];
  let runs = 0;
  for (const scenario of request.scenarios) {
    if (ports.interrupt.aborted) break;
    const outcome = await judgeScenario(request, scenario, { session, commit }, ports).catch((error: unknown) => {
      // What earlier scenarios measured must not be lost with a later one.
      if (error instanceof GateError && error.kind === "error") return brokenScenario(scenario, error);
      throw error;
    });
    scenarios.push(outcome.report);
    warnings.push(...outcome.warnings);
    runs += outcome.report.runs.length;
  }
  const interrupted = ports.interrupt.aborted;
  const failing = scenarios.filter(({ word }) => word === "fail");
  const report: GateReport = {
    tool: { name: "stormlog-gate", version: packageVersion(), argv: request.argv },
    generated_at_utc: ports.now().toISOString(),
    word: interrupted ? "error" : overallWord(scenarios.map(({ word }) => word)),
    exit_code: exitCodeOf(scenarios, request.unjudged, interrupted),
    confirmed: failing.length > 0 && failing.every(({ judgement }) => judgement?.confirmed === true),
    session,
    commit,
    scenarios,
    cost: { runs, minutes: (ports.now().getTime() - started.getTime()) / 60_000 },
    warnings: [...new Set(warnings)],
  };
  try {
    await writeBundle(request.bundle, report);
  } catch (error) {
    // The verdict stands without its evidence; whoever asked must still hear both.
    if (!(error instanceof GateError)) throw error;
    const told = { ...report, warnings: [...report.warnings, error.message] };
    return { report: told, bundleDir: request.bundle, bundleError: error };
  } finally {
    await unlockBundle(request.bundle).catch(() => {});
  }
  return { report, bundleDir: request.bundle, bundleError: null };
}
