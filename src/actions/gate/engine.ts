import type { BaselineStore } from "../../baseline/store.ts";
import { gateRequestFromInputs } from "../../config/from-action-inputs.ts";
import type { Environment } from "../../core/process/environment.ts";
import type { LiveAcceptances } from "../../gate/ports/acceptance.ts";
import type { GatePorts } from "../../gate/ports/ports.ts";
import { runGate } from "../../gate/run-gate.ts";
import { withDeadline } from "../../github/api/deadline.ts";
import { degradedWarning } from "../../github/api/degrade.ts";
import { connect, loadClient, type Octokit } from "../../github/api/octokit.ts";
import { type Repository, type RunContext, runContext } from "../../github/api/run-context.ts";
import { openArtifactStore } from "../../github/artifacts/artifact-baselines.ts";
import { readAcceptances } from "../../github/pull-request/acceptances.ts";
import { copiedPullRequest, readPullRequest } from "../../github/pull-request/pull-request.ts";
import { openCommitHistory } from "../../github/repository/commit-history.ts";
import { readFileAt, readRecordsAt } from "../../github/repository/file-at.ts";
import { openGitData } from "../../github/repository/git-data-client.ts";
import { openRefStore } from "../../github/repository/ref-store.ts";
import { exposureWarning } from "../closed-process.ts";
import type { Engine, EngineRun } from "./step.ts";

/** Branches of GitHub's merge queue name their pull request. */
const QUEUED = /^refs\/heads\/gh-readonly-queue\/.+\/pr-([1-9]\d{0,8})-[0-9a-f]{40,64}$/;

/** A pull request that is measured here; the head is null where the measured commit is another one. */
interface MeasuredPullRequest {
  readonly number: number;
  readonly headSha: string | null;
}

/** The pull request this run measures; null when it measures none. */
export function measuredPullRequest(
  env: Environment,
  { eventName, ref, sha }: Pick<RunContext, "eventName" | "ref" | "sha">,
): MeasuredPullRequest | null {
  const pull = readPullRequest(env);
  if (pull !== null) return { number: pull.number, headSha: pull.headSha };
  const copied = eventName === "push" ? copiedPullRequest(ref) : null;
  if (copied !== null) return { number: copied, headSha: sha };
  const queued = eventName === "merge_group" ? QUEUED.exec(ref ?? "")?.[1] : undefined;
  return queued === undefined ? null : { number: Number(queued), headSha: null };
}

/** Reads the acceptances of a pull request from GitHub, within a deadline. Never throws. */
export function acceptancesPort(
  octokit: Octokit,
  repository: Repository,
  { number, headSha }: MeasuredPullRequest,
  interrupt: AbortSignal,
): () => Promise<LiveAcceptances> {
  return async () => {
    try {
      // Limit for reading acceptances: a pull request with thousands of comments still fits.
      const deadline = { ms: 30_000, interrupt, msAfterInterrupt: 1000 };
      const read = await withDeadline(deadline, () => readAcceptances({ octokit, ...repository }, number));
      return { ...read, headSha };
    } catch (error) {
      const what = "read the acceptances of this pull request";
      const instead = "No acceptance was applied; re-run the job once they can be read.";
      return {
        accepted: [],
        refused: [],
        warnings: [degradedWarning({ what, permission: "pull-requests: read", instead }, error)],
        headSha,
      };
    }
  };
}

/** GitHub's baselines, history and acceptances. Without a token or a repository only the local clone is used. */
async function gitHubPorts({ inputs, env, signal, ports: { log } }: EngineRun): Promise<Partial<GatePorts>> {
  const { token } = inputs;
  const context = runContext(env);
  const { owner, repo } = context;
  if (token === undefined || owner === null || repo === null) return {};
  // Maximum wait that GitHub may ask for while a verdict is outstanding, seconds.
  const octokit = connect(await loadClient(), { token, context, signal, maxWaitS: 15, log });
  const repository = { owner, repo };
  const stores = new Map<string, BaselineStore>();
  const opened = (key: string, open: () => BaselineStore): BaselineStore => {
    const store = stores.get(key) ?? open();
    stores.set(key, store);
    return store;
  };
  // The pull request is determined before the change's code runs, which could alter the event's file.
  const measured = measuredPullRequest(env, context);
  return {
    openRef: (name, ref) => opened(ref, () => openRefStore(openGitData(octokit, repository, { log }), name, ref)),
    openArtifact: (name, artifact) =>
      opened(name, () => openArtifactStore({ octokit, ...repository, apiUrl: context.apiUrl, signal }, name, artifact)),
    history: openCommitHistory(octokit, repository, context.ref),
    fileAt: (commit, file) => readFileAt(octokit, repository, commit, file),
    recordsAt: (commit, directory) => readRecordsAt(octokit, repository, commit, directory),
    ...(measured === null ? {} : { acceptances: acceptancesPort(octokit, repository, measured, signal) }),
  };
}

/** The command line's `run`, with what GitHub adds and the bundle in the directory of the step. */
export const measure: Engine = async (run) =>
  runGate(
    { ...gateRequestFromInputs({ ...run.inputs }, run.env), bundle: run.bundleDir },
    { ...run.ports, ...(await gitHubPorts(run)), exposure: exposureWarning },
  );
