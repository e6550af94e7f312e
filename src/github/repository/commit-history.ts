import { GateError } from "../../core/errors.ts";
import type { HistoryPort } from "../../git/repository-view.ts";
import { withDeadline } from "../api/deadline.ts";
import { type Attempt, degradedWarning, isStatus } from "../api/degrade.ts";
import type { Octokit } from "../api/octokit.ts";
import type { Repository } from "../api/run-context.ts";
import { copiedPullRequest } from "../pull-request/pull-request.ts";

const PARALLEL = 6;

const ATTEMPT: Attempt = { what: "ask GitHub for the history", permission: "contents: read", instead: "" };
const PULL_ATTEMPT: Attempt = {
  what: "ask GitHub for the pull request",
  permission: "pull-requests: read",
  instead: "",
};

class CommitHistory implements HistoryPort {
  readonly #client: () => Promise<Octokit>;
  readonly #repository: Repository;
  readonly #ref: string | null;
  readonly #answers = new Map<string, Promise<unknown>>();
  /** By tip: commits known to be behind it, or known not to be. */
  readonly #known = new Map<string, Map<string, boolean>>();

  constructor(client: () => Promise<Octokit>, repository: Repository, ref: string | null) {
    this.#client = client;
    this.#repository = repository;
    this.#ref = ref;
  }

  baseBranch(): Promise<string | null> {
    const number = copiedPullRequest(this.#ref);
    if (number === null) return Promise.resolve(null);
    return this.#once(`pull ${number}`, PULL_ATTEMPT, async (octokit) => {
      const { data } = await octokit.rest.pulls.get({ ...this.#repository, pull_number: number });
      return data.base.ref;
    });
  }

  mergeBase(head: string, branch: string): Promise<string | null> {
    return this.#once(`base ${branch}...${head}`, ATTEMPT, async (octokit) => {
      const comparison = await this.#compare(octokit, `${branch}...${head}`);
      return comparison?.merge_base_commit.sha ?? null;
    });
  }

  async behind(tip: string, commits: readonly string[]): Promise<ReadonlySet<string>> {
    const known = this.#known.get(tip) ?? new Map<string, boolean>([[tip, true]]);
    this.#known.set(tip, known);
    await this.#asked(ATTEMPT, (octokit) => this.#look(octokit, tip, commits, known));
    return new Set(commits.filter((commit) => known.get(commit) === true));
  }

  /** The newest commits in pages, then each that is left on its own. */
  async #look(octokit: Octokit, tip: string, commits: readonly string[], known: Map<string, boolean>): Promise<void> {
    const open = (): string[] => [...new Set(commits)].filter((commit) => !known.has(commit));
    // Pages of a hundred commits that are looked through before the rest is asked about one by one.
    for (let page = 1; page <= 3 && open().length > 0; page += 1) {
      const { data } = await octokit.rest.repos.listCommits({ ...this.#repository, sha: tip, per_page: 100, page });
      for (const { sha } of data) known.set(sha, true);
      if (data.length < 100) {
        // That was the whole history.
        for (const commit of open()) known.set(commit, false);
      }
    }
    // Commits asked about one by one, at most: a record holds 50 runs worth comparing with.
    const left = open().slice(-50);
    for (let at = 0; at < left.length; at += PARALLEL) {
      await Promise.all(
        left.slice(at, at + PARALLEL).map(async (commit) => {
          const comparison = await this.#compare(octokit, `${commit}...${tip}`);
          known.set(commit, comparison?.status === "ahead" || comparison?.status === "identical");
        }),
      );
    }
  }

  /** Null when GitHub does not know one of the two, or they have nothing in common. */
  async #compare(octokit: Octokit, basehead: string) {
    try {
      const request = { ...this.#repository, basehead, per_page: 1 };
      return (await octokit.rest.repos.compareCommitsWithBasehead(request)).data;
    } catch (error) {
      if (isStatus(error, 404)) return null;
      throw error;
    }
  }

  #once<T>(key: string, attempt: Attempt, ask: (octokit: Octokit) => Promise<T>): Promise<T> {
    const known = this.#answers.get(key) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const asked = this.#asked(attempt, ask);
    this.#answers.set(key, asked);
    return asked;
  }

  async #asked<T>(attempt: Attempt, ask: (octokit: Octokit) => Promise<T>): Promise<T> {
    try {
      // Maximum wait for one answer about the history, milliseconds.
      return await withDeadline({ ms: 45_000 }, async () => ask(await this.#client()));
    } catch (error) {
      throw new GateError("HISTORY_UNKNOWN", degradedWarning(attempt, error).trim(), { cause: error });
    }
  }
}

/** GitHub's history, for shallow clones and branches copied from pull requests. @param ref full ref of the run */
export function openCommitHistory(
  octokit: () => Promise<Octokit>,
  repository: Repository,
  ref: string | null,
): HistoryPort {
  return new CommitHistory(octokit, { owner: repository.owner, repo: repository.repo }, ref);
}
