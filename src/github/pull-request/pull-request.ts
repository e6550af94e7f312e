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

/** The event that `GITHUB_EVENT_PATH` names, as the runner wrote it; undefined where the file is missing or broken. */
export function eventOf(env: Environment): unknown {
  try {
    return env.GITHUB_EVENT_PATH ? readEvent(env.GITHUB_EVENT_PATH) : undefined;
  } catch {
    return undefined;
  }
}

/** A field of an event, whose shape is not known; undefined without it. */
export function eventField(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Readonly<Record<string, unknown>>)[key];
  }
  return current;
}

/** A field of an event that is a whole number above 0; null for any other. */
export function eventNumber(value: unknown, ...path: readonly string[]): number | null {
  const found = eventField(value, ...path);
  return Number.isSafeInteger(found) && Number(found) > 0 ? Number(found) : null;
}

/** The pull request in an event payload, or null when the event is about something else. */
export function pullRequestOf(payload: unknown): PullRequest | null {
  const number = eventNumber(payload, "pull_request", "number");
  const headSha = eventField(payload, "pull_request", "head", "sha");
  if (number === null || typeof headSha !== "string") return null;
  const baseSha = eventField(payload, "pull_request", "base", "sha");
  const headRepo = eventField(payload, "pull_request", "head", "repo", "full_name");
  const baseRepo = eventField(payload, "pull_request", "base", "repo", "full_name");
  return {
    number,
    headSha,
    baseSha: typeof baseSha === "string" ? baseSha : null,
    // A deleted fork has no repository any more (null), which is as foreign as another name.
    fromFork: baseRepo !== undefined && headRepo !== baseRepo,
  };
}

/** {@link pullRequestOf} the event of this step; one that is missing or broken counts as none. */
export function readPullRequest(env: Environment): PullRequest | null {
  return pullRequestOf(eventOf(env));
}

/** Number of the pull request for which copy-pr-bot pushed this ref, for runners that see no pull requests; or null. */
export function copiedPullRequest(ref: string | null): number | null {
  const number = /^refs\/heads\/pull-request\/([1-9]\d{0,8})$/.exec(ref ?? "")?.[1];
  return number === undefined ? null : Number(number);
}
