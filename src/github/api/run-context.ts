import type { Environment } from "../../core/process/environment.ts";
/** A repository on GitHub, in the terms of its API. */
export interface Repository {
  readonly owner: string;
  readonly repo: string;
}

/** Where on GitHub this process runs, read from the variables the runner sets. Fields that are not set are null. */
export interface RunContext {
  readonly apiUrl: string;
  readonly serverUrl: string;
  readonly owner: string | null;
  readonly repo: string | null;
  readonly runId: number | null;
  /** 1 for the first attempt; re-runs count up. */
  readonly runAttempt: number;
  /** `pull_request`, `push`, `workflow_run`, …; empty when it is not known. */
  readonly eventName: string;
  /** Commit that triggered the run: of a pull request the merge commit, not its head. */
  readonly sha: string | null;
  /** Full ref that triggered the run. */
  readonly ref: string | null;
}

/** A run of a workflow, whose repository is known. */
export type KnownRun = RunContext & Repository;

function positiveInteger(text: string | undefined): number | null {
  const value = Number(text);
  return text !== undefined && Number.isSafeInteger(value) && value > 0 ? value : null;
}

export function runContext(env: Environment): RunContext {
  const [owner, repo, ...rest] = (env.GITHUB_REPOSITORY ?? "").split("/");
  const named = owner !== undefined && owner !== "" && repo !== undefined && repo !== "" && rest.length === 0;
  return {
    apiUrl: env.GITHUB_API_URL || "https://api.github.com",
    serverUrl: env.GITHUB_SERVER_URL || "https://github.com",
    owner: named ? owner : null,
    repo: named ? repo : null,
    runId: positiveInteger(env.GITHUB_RUN_ID),
    runAttempt: positiveInteger(env.GITHUB_RUN_ATTEMPT) ?? 1,
    eventName: env.GITHUB_EVENT_NAME ?? "",
    sha: env.GITHUB_SHA || null,
    ref: env.GITHUB_REF || null,
  };
}

/** Page of an artifact of this run, or null without one, or when it is not known which run this is. */
export function artifactUrl(context: RunContext, artifactId: number | null): string | null {
  if (artifactId === null || context.owner === null || context.repo === null || context.runId === null) return null;
  return `${context.serverUrl}/${context.owner}/${context.repo}/actions/runs/${context.runId}/artifacts/${artifactId}`;
}
