import { type GateError, usageError } from "../../core/errors.ts";
import { eventField, eventOf } from "../../github/pull-request/pull-request.ts";
import { attempted } from "../attempted.ts";
import type { SubAction } from "../sub-action.ts";

/** What is known of the repository, branch and event of a refresh. */
export interface GitLocation {
  readonly eventName: string;
  /** Full ref of the run. */
  readonly ref: string | null;
  readonly defaultBranch: string | null;
  /** Null = not known. */
  readonly fork: boolean | null;
  readonly isProtected: boolean | null;
}

/** Events that run the code of the branch they name, and that only accounts with push access can start. */
const EVENTS: ReadonlySet<string> = new Set(["schedule", "push", "workflow_dispatch"]);

/**
 * Why baselines cannot be made here; null when they can. Every pull request is judged by the baseline: only a protected
 * default branch's own code may make one, never a pull request's or a fork's. What is not known does not count in
 * favour.
 */
export function refusal(place: GitLocation, requireProtected: boolean): GateError | null {
  const { eventName, ref, defaultBranch, fork, isProtected } = place;
  const refuse = (why: string, hint: string): GateError =>
    usageError("REFRESH_REFUSED", `baselines are not made here: ${why}`, hint);
  if (!EVENTS.has(eventName)) {
    return refuse(
      `the event is ${eventName === "" ? "not known" : `"${eventName}"`}`,
      "Run the refresh on schedule, or on a push to the default branch.",
    );
  }
  if (fork !== false)
    return refuse(
      fork === null ? "it is not known whether this is a fork" : "this repository is a fork",
      "Run it upstream.",
    );
  if (defaultBranch === null)
    return refuse("the default branch is not known", "Give a token that may read the repository.");
  if (ref !== `refs/heads/${defaultBranch}`)
    return refuse(
      `the ref is "${ref ?? "not known"}", the default branch "${defaultBranch}"`,
      "Run it on the default branch.",
    );
  if (requireProtected && isProtected !== true) {
    return refuse(
      isProtected === null
        ? `it is not known whether "${defaultBranch}" is protected`
        : `"${defaultBranch}" is not protected`,
      "Protect the branch, or set require-protected: false. Everyone with push access can then move the baseline.",
    );
  }
  return null;
}

/** Ask GitHub where this runs. Without an answer the event and the runner's variables are used, with one warning. */
export async function readGitLocation(action: SubAction): Promise<GitLocation> {
  const { context, octokit, env } = action;
  const { owner, repo, eventName, ref } = context;
  const envProtected = env.GITHUB_REF_PROTECTED === "true" ? true : env.GITHUB_REF_PROTECTED === "false" ? false : null;
  const attempt = {
    what: "ask for the default branch",
    permission: "contents: read",
    instead: "The event that started this run was used.",
  };
  // Maximum wait for what the event also contains, milliseconds.
  const asked = await attempted(action, 30_000, attempt, async () => {
    const { data } = await octokit.rest.repos.get({ owner, repo });
    const defaultBranch = data.default_branch;
    let isProtected = envProtected;
    if (isProtected !== true && ref === `refs/heads/${defaultBranch}`) {
      const branch = await octokit.rest.repos.getBranch({ owner, repo, branch: defaultBranch });
      isProtected = branch.data.protected;
    }
    return { eventName, ref, defaultBranch, fork: data.fork, isProtected };
  });
  if (asked !== null) return asked;
  // Written by GitHub when the run began, and sufficient when its API is unreachable.
  const event = eventOf(env);
  const [branch, fork] = ["default_branch", "fork"].map((name) => eventField(event, "repository", name));
  return {
    eventName,
    ref,
    defaultBranch: typeof branch === "string" ? branch : null,
    fork: typeof fork === "boolean" ? fork : null,
    isProtected: envProtected,
  };
}
