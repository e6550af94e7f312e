import type { BaselineStore } from "../../baseline/store.ts";
import type { Environment } from "../../core/environment.ts";
import type { GatePorts } from "../../gate/ports.ts";
import { openArtifactStore } from "../../github/artifacts/artifact-baselines.ts";
import { connect, type Octokit } from "../../github/octokit.ts";
import { openCommitHistory } from "../../github/repository/commit-history.ts";
import { readFileAt } from "../../github/repository/file-at.ts";
import { openGitData } from "../../github/repository/git-data-client.ts";
import { openRefStore } from "../../github/repository/ref-store.ts";
import { runContext } from "../../github/run-context.ts";
import { acceptancesPort, measuredPullRequest } from "./acceptances-port.ts";

/** Longest wait that GitHub may ask for while somebody waits for a verdict, seconds. */
const MAX_WAIT_S = 15;

export interface GitHubPortsInput {
  readonly token: string | undefined;
  readonly env: Environment;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

/**
 * What the gate may ask of GitHub: baselines on a ref of the repository, and what people accepted of this pull request. Without a
 * token or a repository there is nothing, and the gate works with the local clone.
 */
export function gitHubPorts({
  token,
  env,
  signal,
  log,
}: GitHubPortsInput): Pick<GatePorts, "openRef" | "openArtifact" | "history" | "fileAt" | "acceptances"> {
  const context = runContext(env);
  const { owner, repo } = context;
  if (token === undefined || owner === null || repo === null) return {};
  let client: Promise<Octokit> | undefined;
  const octokit = (): Promise<Octokit> => {
    client ??= connect({ token, context, signal, longestWaitS: MAX_WAIT_S, log });
    return client;
  };
  const repository = { owner, repo };
  const stores = new Map<string, BaselineStore>();
  // Which pull request it is, is asked before the change's code runs and could touch the event's file.
  const measured = measuredPullRequest(env, context);
  return {
    openRef: (name, ref) => {
      const store = stores.get(ref) ?? openRefStore(openGitData(octokit, repository, { log }), name, ref);
      stores.set(ref, store);
      return store;
    },
    openArtifact: (name, artifact) => {
      const source = { octokit, ...repository, apiUrl: context.apiUrl, signal };
      const store = stores.get(name) ?? openArtifactStore(source, name, artifact);
      stores.set(name, store);
      return store;
    },
    history: openCommitHistory(octokit, repository, context.ref),
    fileAt: (commit, file) => readFileAt(octokit, repository, commit, file),
    ...(measured === null ? {} : { acceptances: acceptancesPort(octokit, repository, measured, signal) }),
  };
}
