import type { Octokit } from "../api/octokit.ts";
import type { Repository } from "../api/run-context.ts";
import { copiedPullRequest } from "./pull-request.ts";

/** GitHub's own record of a workflow run. The code of the run controls none of it but the names. */
export interface RecordedRun {
  readonly id: number;
  readonly attempt: number;
  /** What started it: `pull_request`, `push`, … */
  readonly event: string;
  readonly headSha: string;
  readonly headBranch: string | null;
  /** `owner/name` of the repository the head lives in; null when it was deleted since. */
  readonly headRepository: string | null;
  readonly headOwner: string | null;
  /** `success`, `failure`, …; null while it runs. */
  readonly conclusion: string | null;
  /** False when the run belongs to another repository than the one asked. */
  readonly ours: boolean;
}

/** The pull request a run is about, found without asking anything that the run has written. */
export type Resolved =
  | { readonly kind: "found"; readonly number: number; readonly headSha: string; readonly fromFork: boolean }
  /** No pull request to report to. `odd` where that is unusual (unlike a push or a newer commit) and worth a look. */
  | { readonly kind: "none"; readonly reason: string; readonly odd: boolean };

function sameName(a: string | null | undefined, b: string | null | undefined): boolean {
  return a != null && b != null && a.toLowerCase() === b.toLowerCase();
}

/** The run as GitHub records it. @throws what the client throws */
export async function recordedRun(octokit: Octokit, { owner, repo }: Repository, runId: number): Promise<RecordedRun> {
  const { data } = await octokit.rest.actions.getWorkflowRun({ owner, repo, run_id: runId });
  // The description has both of them always; a deleted fork's is null all the same.
  const head = data.head_repository as typeof data.head_repository | null;
  return {
    id: data.id,
    attempt: data.run_attempt ?? 1,
    event: data.event,
    headSha: data.head_sha,
    headBranch: data.head_branch,
    headRepository: head?.full_name ?? null,
    headOwner: head?.owner?.login ?? null,
    conclusion: data.conclusion,
    ours: data.id === runId && sameName(data.repository?.full_name, `${owner}/${repo}`),
  };
}

/** An open pull request of this number whose head is this commit, or why there is none. */
export async function pullRequestAt(
  octokit: Octokit,
  { owner, repo }: Repository,
  number: number,
  headSha: string,
): Promise<Resolved> {
  const { data } = await octokit.rest.pulls.get({ owner, repo, pull_number: number });
  if (data.state !== "open") return none(`pull request ${number} is closed`);
  if (data.head.sha !== headSha) return none(`pull request ${number} has moved on from ${headSha.slice(0, 10)}`);
  if (!sameName(data.base.repo.full_name, `${owner}/${repo}`)) {
    return none(`pull request ${number} goes to another repository`, true);
  }
  const head = data.head.repo as typeof data.head.repo | null;
  return { kind: "found", number, headSha, fromFork: !sameName(head?.full_name, `${owner}/${repo}`) };
}

function none(reason: string, odd = false): Resolved {
  return { kind: "none", reason, odd };
}

async function fromBranch(octokit: Octokit, { owner, repo }: Repository, run: RecordedRun): Promise<Resolved> {
  if (run.headOwner === null || run.headRepository === null || run.headBranch === null) {
    return none("the repository its changes came from is gone");
  }
  const found: number[] = [];
  let stale = false;
  let pages = 0;
  const open = octokit.paginate.iterator(octokit.rest.pulls.list, {
    owner,
    repo,
    state: "open",
    head: `${run.headOwner}:${run.headBranch}`,
    per_page: 100,
  });
  for await (const { data } of open) {
    for (const pull of data) {
      // The filter is a name; what counts is the commit, in that very repository, on its way into this one.
      const head = pull.head.repo as typeof pull.head.repo | null;
      if (!sameName(head?.full_name, run.headRepository) || pull.head.ref !== run.headBranch) continue;
      if (!sameName(pull.base.repo.full_name, `${owner}/${repo}`) || pull.state !== "open") continue;
      if (pull.head.sha === run.headSha) found.push(pull.number);
      else stale = true;
    }
    pages += 1;
    // More open pull requests from one branch than occur in practice.
    if (pages === 3) break;
  }
  const [number, ...others] = found;
  if (number === undefined) {
    return none(
      stale ? "its pull request has moved on to a newer commit" : "no open pull request has its commit at its head",
    );
  }
  if (others.length > 0) {
    const all = found.map((one) => `#${one}`).join(", ");
    return none(
      `several pull requests (${all}) have its commit at their head, and GitHub does not record which one it was for`,
      true,
    );
  }
  return { kind: "found", number, headSha: run.headSha, fromFork: !sameName(run.headRepository, `${owner}/${repo}`) };
}

/**
 * The open pull request whose head a workflow run measured. The listing by commit knows no forks, so open pull requests
 * are listed by branch and distinguished by commit; a branch of copy-pr-bot is found by its number **and** its commit.
 * @throws what the client throws
 */
export async function resolvePullRequest(
  octokit: Octokit,
  repository: Repository,
  run: RecordedRun,
): Promise<Resolved> {
  if (!run.ours) return none(`run ${run.id} belongs to another repository`, true);
  if (!/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(run.headSha)) return none("GitHub gave no commit for it", true);
  switch (run.event) {
    case "pull_request":
      return fromBranch(octokit, repository, run);
    case "push": {
      const number = copiedPullRequest(`refs/heads/${run.headBranch}`);
      if (number === null) return none("it was started by a push, which has no pull request");
      if (!sameName(run.headRepository, `${repository.owner}/${repository.repo}`)) {
        return none("its branch is not one of this repository", true);
      }
      return pullRequestAt(octokit, repository, number, run.headSha);
    }
    default:
      return none(
        `runs started by ${/^[a-z_]{1,40}$/.test(run.event) ? run.event : "that event"} have no pull request`,
      );
  }
}
