import { readEvent } from "../../core/files.ts";
import type { Environment } from "../../core/process/environment.ts";

/** The pull request an event is about. */
export interface PullRequest {
  readonly number: number;
  /** Commit at the head of the pull request when the event was sent; not the merge commit that is checked out. */
  readonly headSha: string;
  readonly baseSha: string | null;
  /** True when the head lives in another repository: its token can never write. */
  readonly fromFork: boolean;
}

function field(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null) return undefined;
    current = (current as Readonly<Record<string, unknown>>)[key];
  }
  return current;
}

/** The pull request in an event payload, or null when the event is about something else. */
export function pullRequestOf(payload: unknown): PullRequest | null {
  const number = field(payload, "pull_request", "number");
  const headSha = field(payload, "pull_request", "head", "sha");
  if (typeof number !== "number" || !Number.isSafeInteger(number) || number < 1 || typeof headSha !== "string") {
    return null;
  }
  const baseSha = field(payload, "pull_request", "base", "sha");
  const headRepo = field(payload, "pull_request", "head", "repo", "full_name");
  const baseRepo = field(payload, "pull_request", "base", "repo", "full_name");
  return {
    number,
    headSha,
    baseSha: typeof baseSha === "string" ? baseSha : null,
    // A deleted fork has no repository any more (null), which is as foreign as another name.
    fromFork: baseRepo !== undefined && headRepo !== baseRepo,
  };
}

/** {@link pullRequestOf} the file named by `GITHUB_EVENT_PATH`; a missing or broken file counts as none. */
export function readPullRequest(env: Environment): PullRequest | null {
  if (!env.GITHUB_EVENT_PATH) return null;
  try {
    return pullRequestOf(readEvent(env.GITHUB_EVENT_PATH));
  } catch {
    return null;
  }
}
