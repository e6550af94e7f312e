import path from "node:path";
import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import { GateError } from "../core/errors.ts";
import { packageVersion } from "../core/package-root.ts";
import { hideSecrets } from "../core/process/hide-secrets.ts";
import { countedNotes } from "../core/text.ts";
import { currentCommit, freezeRefs, gitWarnings } from "../git/git.ts";
import { endOrphans } from "../measure/launch/process-tree.ts";
import { checkWorkingDirectory } from "../measure/session/run-directory.ts";
import { sessionId } from "../measure/session/session.ts";
import { prepareBundle, writeBundle } from "../report/bundle/bundle.ts";
import { unlockBundle } from "../report/bundle/bundle-lock.ts";
import type { GateReport, ScenarioReport } from "../report/model/gate-report.ts";
import type { AcceptCommand } from "../report/wording/next-steps.ts";
import type { BasePlanner } from "./base/base-run.ts";
import { exitCodeOf, overallVerdict, reportVerdict, scalingVerdicts } from "./exit-code.ts";
import type { KnownLeaks } from "./known-leaks.ts";
import { AcceptanceMatcher } from "./ports/acceptance.ts";
import type { GatePorts } from "./ports/ports.ts";
import { RunFiles } from "./run/run-files.ts";
import type { Watched } from "./run/watched-files.ts";
import { ANCHORS_FILE } from "./scenario/anchor.ts";
import { readAnchors } from "./scenario/anchor-file.ts";
import { readBaselines, wantedScenario } from "./scenario/baseline-preflight.ts";
import { cancelled, outOfTime } from "./scenario/cost.ts";
import { judgeScenario } from "./scenario/scenario.ts";
import { NO_HOOKS, type ScenarioHooks } from "./scenario/scenario-hooks.ts";
import { brokenScenario } from "./scenario/scenario-report.ts";
import type { GateContext } from "./scenario/scenario-run.ts";
import { demoteUnverifiedPass, effectivePolicy, removedScenarios } from "./settings/effective-policy.ts";

/** Limit for ending what is left of all runs. */
const LAST_MS = 500;

export interface GateOutcome {
  readonly report: GateReport;
  /** Absolute directory of the bundle. */
  readonly bundleDir: string;
  /** Why the bundle is incomplete (disk full, no permission); null when it is complete. */
  readonly bundleError: GateError | null;
}

/** The directories whose repositories are read. The change names those of its scenarios, so they add none. */
function directoriesOf({ root, source }: GateRequest): readonly string[] {
  return [root, ...(source === undefined ? [] : [path.dirname(source.file)])];
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
  const release = await freezeRefs(directoriesOf(asked), ports.interrupt);
  try {
    return await runHeld(asked, ports, hooks);
  } finally {
    release();
  }
}

async function runHeld(asked: GateRequest, ports: GatePorts, hooks: ScenarioHooks): Promise<GateOutcome> {
  const session = sessionId(asked.env);
  const startedMs = performance.now();
  const policy = await effectivePolicy(asked, ports);
  const { request } = policy;
  for (const { cwd } of request.scenarios) checkWorkingDirectory(cwd);
  const baselines = await readBaselines(request, ports, policy.openFile);
  const anchors = await readAnchors(request.root, request.env);
  const basePlans = await planBaseRuns(request, baselines, ports);
  await prepareBundle(request.bundle, { argv: hideSecrets(request.argv), createdIso: ports.now().toISOString() });
  const { BundleGuard, WatchedFiles } = await import("./run/watched-files.ts");
  const watched = watchedBy(request, hooks);
  const held: GateContext = {
    baselines,
    anchors,
    basePlans,
    bundle: new BundleGuard(request.bundle),
    runFiles: new RunFiles(request),
    watch: () => new WatchedFiles(watched),
  };
  const commit = await currentCommit(request.scenarios[0]?.cwd ?? ".", request.env);
  const scenarios: ScenarioReport[] = [];
  const warnings: string[] = [...(ports.warnings ?? []), ...policy.warnings];
  const acceptances = new AcceptanceMatcher(ports.acceptances);
  const knownLeaks = await knownLeaksOf(request, ports);
  let runs = 0;
  for (const scenario of request.scenarios) {
    if (cancelled(ports.interrupt)) break;
    if (outOfTime(ports.interrupt)) {
      scenarios.push(brokenScenario(scenario, notReached()).report);
      continue;
    }
    const outcome = await judgeScenario(request, scenario, { session, commit }, ports, hooks, held).catch(
      (error: unknown) => {
        // A later scenario must not cost the measurements of earlier ones.
        if (error instanceof GateError && ["error", "interrupted"].includes(error.kind))
          return brokenScenario(scenario, error);
        throw error;
      },
    );
    const known = knownLeaks?.apply(outcome.report) ?? outcome.report;
    const judged = demoteUnverifiedPass(await acceptances.apply(known), policy);
    scenarios.push(await withInvocation(judged, request, scenario));
    warnings.push(...outcome.warnings);
    runs += outcome.report.runs.length;
  }
  warnings.push(...(knownLeaks?.notes() ?? []), ...(await acceptances.notes()));
  // What git or another helper left behind must not write while the evidence is written and published.
  await endOrphans(LAST_MS);
  scenarios.push(...removedScenarios(policy));
  const inBundle = held.bundle.changes();
  const [first] = scenarios;
  if (first !== undefined && inBundle.length > 0)
    scenarios[0] = { ...first, interference: [...(first.interference ?? []), ...inBundle] };
  const interrupted = cancelled(ports.interrupt);
  const scaling = await scalingOver(request, scenarios);
  if (scaling === null && request.scalingLimits !== null)
    warnings.unshift("policy.scaling was not checked: this run varies nothing (--vary NAME=v1,v2,…)");
  const others = scalingVerdicts(scaling ?? undefined);
  const failing = scenarios.filter(({ verdict }) => verdict === "fail");
  const report: GateReport = {
    tool: { name: "stormlog-gate", version: packageVersion(), argv: hideSecrets(request.argv) },
    generated_at_utc: ports.now().toISOString(),
    verdict: interrupted ? "error" : overallVerdict([reportVerdict({ ...policy.reported, scenarios }), ...others]),
    exit_code: exitCodeOf(scenarios, request.unjudged, interrupted, others),
    confirmed: failing.length > 0 && failing.every(({ judgement }) => judgement?.confirmed === true),
    session,
    commit,
    scenarios,
    cost: { runs, minutes: (performance.now() - startedMs) / 60_000 },
    warnings: countedNotes([...warnings, ...gitWarnings()]),
    ...policy.reported,
    ...(scaling === null ? {} : { scaling }),
  };
  const printed = ports.decided?.(report);
  // Also where the report cannot be printed, the evidence is written.
  await printed?.catch(() => {});
  const evident = { ...report, warnings: [...report.warnings, ...(await held.runFiles.write())] };
  const outcome = await writeEvidence(request.bundle, evident, await ports.acceptCommand?.(scenarios));
  await printed;
  return outcome;
}

async function writeEvidence(bundleDir: string, report: GateReport, accept?: AcceptCommand): Promise<GateOutcome> {
  try {
    const written = await writeBundle(bundleDir, report, [], accept);
    return { report: written.report, bundleDir, bundleError: null };
  } catch (error) {
    // The verdict does not depend on its evidence, and the caller needs both.
    if (!(error instanceof GateError)) throw error;
    const warned = { ...report, warnings: [...report.warnings, error.message] };
    return { report: warned, bundleDir, bundleError: error };
  } finally {
    await unlockBundle(bundleDir).catch(() => {});
  }
}

/** How to run the base of each scenario whose baseline store exists: nothing else can ask for it. */
async function planBaseRuns(
  { scenarios, baseRun, env, baselines: specs }: GateRequest,
  baselines: GateContext["baselines"],
  { history }: GatePorts,
): Promise<GateContext["basePlans"]> {
  const plans = new Map<string, BasePlanner>();
  const byDirectory = new Map<string, BasePlanner>();
  for (const scenario of scenarios) {
    const answer = baselines.find(wantedScenario(scenario), {});
    if (specs.length === 0 || (answer.kind === "absent" && answer.missing)) continue;
    const { baseRunPlanner } = await import("./base/base-run.ts");
    const plan = byDirectory.get(scenario.cwd) ?? (await baseRunPlanner(baseRun, scenario, env, history));
    byDirectory.set(scenario.cwd, plan);
    plans.set(scenario.name, plan);
  }
  return plans;
}

/** The files that were read before measuring, and that a measured command has no reason to write. */
function watchedBy({ root, source, baselines }: GateRequest, { writesBaselines }: ScenarioHooks): Watched {
  const locations = (scheme: string): string[] =>
    baselines.flatMap((spec) => (spec.startsWith(scheme) ? [path.resolve(root, spec.slice(scheme.length))] : []));
  const named = baselines.filter((spec) => !/^(file|ref|bundle|artifact):/.test(spec));
  return {
    root,
    files: [
      ...(source === undefined ? [] : [source.file]),
      path.join(root, ANCHORS_FILE),
      ...named.map((file) => path.resolve(root, file)),
    ],
    directories: writesBaselines ? [] : locations("file:"),
  };
}

/** A red report, with how to repeat its runs. */
async function withInvocation(
  report: ScenarioReport,
  request: GateRequest,
  scenario: ScenarioRequest,
): Promise<ScenarioReport> {
  if (report.kind === "missing" || (report.verdict !== "fail" && report.verdict !== "error")) return report;
  const { invocationOf } = await import("./run/invocation.ts");
  const invocation = await invocationOf(request, scenario, report);
  return invocation === null ? report : { ...report, invocation };
}

/** The entries of `policy.known-leaks`; null without any. */
async function knownLeaksOf(request: GateRequest, ports: GatePorts): Promise<KnownLeaks | null> {
  if (request.knownLeaks.length === 0) return null;
  const { KnownLeaks } = await import("./known-leaks.ts");
  return new KnownLeaks(request.knownLeaks, ports.now().toISOString().slice(0, 10), request);
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

/** The error of a scenario that was not measured: a missing scenario never passes. */
function notReached(): GateError {
  return new GateError("STEP_TIMEOUT", "timeout-minutes was over before this scenario was measured", {
    kind: "error",
    hint: "Raise timeout-minutes, or measure the scenarios in several jobs.",
  });
}
