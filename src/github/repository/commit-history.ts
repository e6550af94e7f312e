import { GateError } from "../../core/errors.ts";
import type { HistoryPort } from "../../git/repository-view.ts";
import { askEach } from "../api/ask-each.ts";
import { withDeadline } from "../api/deadline.ts";
import { type Attempt, degradedWarning, unlessMissing } from "../api/degrade.ts";
import type { Octokit } from "../api/octokit.ts";
import type { Repository } from "../api/run-context.ts";
import { copiedPullRequest } from "../pull-request/pull-request.ts";

const ATTEMPT: Attempt = { what: "ask GitHub for the history", permission: "contents: read", instead: "" };
const PULL_ATTEMPT: Attempt = {
  what: "ask GitHub for the pull request",
  permission: "pull-requests: read",
  instead: "",
};

/** GitHub's history, for shallow clones and branches copied from pull requests. @param ref full ref of the run */
export function openCommitHistory(octokit: Octokit, { owner, repo }: Repository, ref: string | null): HistoryPort {
  const answers = new Map<string, Promise<string | null>>();
  /** By tip: commits known to be behind it, or known not to be. */
  const known = new Map<string, Map<string, boolean>>();
  const asked = async <T>(attempt: Attempt, ask: (octokit: Octokit) => Promise<T>): Promise<T> => {
    try {
      // Maximum wait for one answer about the history, milliseconds.
      return await withDeadline({ ms: 45_000 }, () => ask(octokit));
    } catch (error) {
      throw new GateError("HISTORY_UNKNOWN", degradedWarning(attempt, error).trim(), { cause: error });
    }
  };
  const once = (key: string, attempt: Attempt, ask: (octokit: Octokit) => Promise<string | null>) => {
    const answer = answers.get(key) ?? asked(attempt, ask);
    answers.set(key, answer);
    return answer;
  };
  return {
    async baseBranch() {
      const number = copiedPullRequest(ref);
      if (number === null) return null;
      return once(`pull ${number}`, PULL_ATTEMPT, async (octokit) => {
        const { data } = await octokit.rest.pulls.get({ owner, repo, pull_number: number });
        return data.base.ref;
      });
    },
    mergeBase: (head, branch) =>
      once(`base ${branch}...${head}`, ATTEMPT, async (octokit) => {
        const comparison = await compare(octokit, { owner, repo }, `${branch}...${head}`);
        return comparison?.merge_base_commit.sha ?? null;
      }),
    async behind(tip, commits) {
      const of = known.get(tip) ?? new Map<string, boolean>([[tip, true]]);
      known.set(tip, of);
      await asked(ATTEMPT, (octokit) => look(octokit, { owner, repo }, tip, commits, of));
      return new Set(commits.filter((commit) => of.get(commit) === true));
    },
  };
}

/** The newest commits in pages, then each that is left on its own. */
async function look(
  octokit: Octokit,
  repository: Repository,
  tip: string,
  commits: readonly string[],
  known: Map<string, boolean>,
): Promise<void> {
  const open = (): string[] => [...new Set(commits)].filter((commit) => !known.has(commit));
  // Pages of a hundred commits that are looked through before the rest is asked about one by one.
  for (let page = 1; page <= 3 && open().length > 0; page += 1) {
    const { data } = await octokit.rest.repos.listCommits({ ...repository, sha: tip, per_page: 100, page });
    for (const { sha } of data) known.set(sha, true);
    if (data.length < 100) {
      // That was the whole history.
      for (const commit of open()) known.set(commit, false);
    }
  }
  // Commits asked about one by one, at most: a record holds 50 runs worth comparing with.
  await askEach(open().slice(-50), async (commit) => {
    const comparison = await compare(octokit, repository, `${commit}...${tip}`);
    known.set(commit, comparison?.status === "ahead" || comparison?.status === "identical");
  });
}

/** Null when GitHub does not know one of the two, or they have nothing in common. */
async function compare({ rest }: Octokit, repository: Repository, basehead: string) {
  const asked = { ...repository, basehead, per_page: 1 };
  return (await unlessMissing(rest.repos.compareCommitsWithBasehead(asked)))?.data ?? null;
}
