import path from "node:path";
import type { GateRequest } from "../config/gate-request.ts";
import { hideSecrets } from "../core/process/hide-secrets.ts";
import { type RepositoryViews, repositoryViews } from "../git/repository-view.ts";
import { checkWorkingDirectory } from "../measure/session/run-directory.ts";
import { sessionId } from "../measure/session/session.ts";
import { prepareBundle } from "../report/bundle/bundle.ts";
import type { BasePlanner } from "./base/base-run.ts";
import type { GatePorts } from "./ports/ports.ts";
import { RunFiles } from "./run/run-files.ts";
import { readBefore, wallAround } from "./run/wall-around.ts";
import { ANCHORS_FILE } from "./scenario/anchor.ts";
import { readAnchors } from "./scenario/anchor-file.ts";
import { readBaselines } from "./scenario/baseline-preflight.ts";
import type { ScenarioHooks } from "./scenario/scenario-hooks.ts";
import type { GateContext, GateIdentity } from "./scenario/scenario-run.ts";
import { type EffectivePolicy, effectivePolicy } from "./settings/effective-policy.ts";

/** All that is read before measured code runs, and an empty bundle. */
export interface PreparedGate {
  readonly policy: EffectivePolicy;
  /** The request under that policy. */
  readonly request: GateRequest;
  readonly identity: GateIdentity;
  readonly context: GateContext;
}

/** @throws GateError for an error before the first measurement (usage, a baseline file named directly, the bundle) */
export async function prepareGate(asked: GateRequest, ports: GatePorts, hooks: ScenarioHooks): Promise<PreparedGate> {
  const repositories = repositoryViews(asked.env, ports.history);
  const policy = await effectivePolicy(asked, ports, repositories);
  const { request } = policy;
  for (const { cwd } of request.scenarios) checkWorkingDirectory(cwd);
  const repository = await repositories(request.root);
  const baselines = await readBaselines(request, ports, repository, policy.openFile);
  const anchors = await readAnchors(repository);
  const basePlans = await planBaseRuns(request, repositories);
  await prepareBundle(request.bundle, { argv: hideSecrets(request.argv), createdIso: ports.now().toISOString() });
  const { BundleGuard, WatchedFiles } = await import("./run/watched-files.ts");
  const { files, directories } = readBefore(request);
  const anchorsFile = path.join(request.root, ANCHORS_FILE);
  // A nightly session writes baselines itself.
  const watched = {
    root: request.root,
    files: [...files, anchorsFile],
    directories: hooks.writesBaselines ? [] : directories,
  };
  const measured = await repositories(request.scenarios[0]?.cwd ?? ".");
  const wall = await wallAround(request, [request.bundle, anchorsFile]);
  return {
    policy,
    request,
    identity: { session: sessionId(asked.env), commit: measured.commit },
    context: {
      repositories,
      baselines,
      anchors,
      basePlans,
      bundle: new BundleGuard(request.bundle),
      wall,
      runFiles: new RunFiles(request),
      watch: () => new WatchedFiles(watched),
    },
  };
}

/** How to run the base of each scenario that is compared with a baseline, whether or not it has one yet. */
async function planBaseRuns(
  { scenarios, baseRun, baselines }: GateRequest,
  repositories: RepositoryViews,
): Promise<GateContext["basePlans"]> {
  const plans = new Map<string, BasePlanner>();
  const byDirectory = new Map<string, BasePlanner>();
  for (const scenario of scenarios) {
    if (baselines.length === 0) continue;
    const { baseRunPlanner } = await import("./base/base-run.ts");
    const plan = byDirectory.get(scenario.cwd) ?? (await baseRunPlanner(baseRun, await repositories(scenario.cwd)));
    byDirectory.set(scenario.cwd, plan);
    plans.set(scenario.name, plan);
  }
  return plans;
}
