import type { Environment } from "../../core/environment.ts";
import type { LiveAcceptances } from "../../gate/acceptance.ts";
import { withDeadline } from "../../github/deadline.ts";
import { degradedWarning } from "../../github/degrade.ts";
import type { Octokit } from "../../github/octokit.ts";
import { readAcceptances } from "../../github/pull-request/approvals.ts";
import { readPullRequest } from "../../github/pull-request/pull-request.ts";
import type { Repository, RunContext } from "../../github/run-context.ts";

/** Somebody waits for a red verdict; a pull request with thousands of comments still fits into this. */
const DEADLINE_MS = 30_000;
const AFTER_INTERRUPT_MS = 1000;

/** Branches of NVIDIA's copy-pr-bot, and those of GitHub's merge queue, which name their pull request. */
const COPIED = /^refs\/heads\/pull-request\/([1-9]\d{0,8})$/;
const QUEUED = /^refs\/heads\/gh-readonly-queue\/.+\/pr-([1-9]\d{0,8})-[0-9a-f]{40,64}$/;

/** A pull request that is measured here; the head is null where another commit stands for it. */
export interface Measured {
  readonly number: number;
  readonly headSha: string | null;
}

/** The pull request this run measures; null when it measures none. */
export function measuredPullRequest(
  env: Environment,
  { eventName, ref, sha }: Pick<RunContext, "eventName" | "ref" | "sha">,
): Measured | null {
  const pull = readPullRequest(env);
  if (pull !== null) return { number: pull.number, headSha: pull.headSha };
  const copied = eventName === "push" ? COPIED.exec(ref ?? "")?.[1] : undefined;
  if (copied !== undefined) return { number: Number(copied), headSha: sha };
  const queued = eventName === "merge_group" ? QUEUED.exec(ref ?? "")?.[1] : undefined;
  return queued === undefined ? null : { number: Number(queued), headSha: null };
}

/** Asks GitHub what people accepted of a pull request, within a deadline. Never throws. */
export function acceptancesPort(
  octokit: () => Promise<Octokit>,
  repository: Repository,
  { number, headSha }: Measured,
  interrupt: AbortSignal,
): () => Promise<LiveAcceptances> {
  return async () => {
    try {
      const deadline = { ms: DEADLINE_MS, interrupt, msAfterInterrupt: AFTER_INTERRUPT_MS };
      const read = await withDeadline(deadline, async () =>
        readAcceptances({ octokit: await octokit(), ...repository }, number),
      );
      return { ...read, headSha };
    } catch (error) {
      const what = "read what people accepted of this pull request";
      const instead = "Nothing counts as accepted; run the job again once it can be read.";
      return {
        accepted: [],
        refused: [],
        warnings: [degradedWarning({ what, permission: "pull-requests: read", instead }, error)],
        headSha,
      };
    }
  };
}
