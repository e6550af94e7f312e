import { isStatus, unlessMissing } from "../api/degrade.ts";
import type { Octokit } from "../api/octokit.ts";
import { sameText } from "../api/own-texts.ts";
import type { Repository } from "../api/run-context.ts";
import { shortRef, tipOf } from "./ref-move.ts";

/** A change to files of the main branch that a person shall decide on. */
export interface Proposal {
  /** Name of the branch it lives on, without `refs/heads/`; it is ours. */
  readonly branch: string;
  /** Branch it goes into. */
  readonly base: string;
  readonly title: string;
  readonly body: string;
  /** First line of the commit; it also distinguishes our commits from those that a person pushed onto the branch. */
  readonly message: string;
  readonly files: readonly ProposedFile[] | ((read: ReadFile) => Promise<readonly ProposedFile[]>);
}

export interface ProposedFile {
  readonly path: string;
  readonly content: string;
}

/** A file on the open pull request's branch, else on the base; null = it does not exist. */
export type ReadFile = (path: string) => Promise<string | null>;

export type ProposalResult =
  | { readonly action: "created" | "updated" | "unchanged"; readonly number: number; readonly url: string }
  /** A person works on the branch: its files are theirs now. */
  | { readonly action: "left"; readonly number: number; readonly url: string }
  /** A person closed it unmerged and kept the branch: that was a no. */
  | { readonly action: "declined"; readonly number: number; readonly url: string }
  /** The files are as proposed already. */
  | { readonly action: "nothing" };

/** Line of a commit message that marks it as ours. */
const OURS = "Proposed-By: stormlog-gate";

interface BranchTip {
  readonly commit: string;
  readonly tree: string;
  readonly message: string;
}

interface KnownPull {
  readonly number: number;
  readonly url: string;
  readonly title: string;
  readonly body: string;
  readonly fate: "open" | "merged" | "declined";
}

function proposalBranch(octokit: Octokit, { owner, repo }: Repository, proposal: Proposal) {
  const { git, pulls, repos } = octokit.rest;
  const { branch, base, title, body } = proposal;
  let files: readonly ProposedFile[] = [];
  const read = async (from: string, path: string): Promise<string | null> => {
    const data = (await unlessMissing(repos.getContent({ owner, repo, path, ref: from })))?.data;
    if (data === undefined || Array.isArray(data) || data.type !== "file" || !("content" in data)) return null;
    return Buffer.from(data.content, "base64").toString("utf8");
  };
  return {
    /** Settle what is proposed, from the files of a branch where it builds on them. */
    async make(from: string): Promise<void> {
      files = typeof proposal.files === "function" ? await proposal.files((path) => read(from, path)) : proposal.files;
    },

    async tip(of: string): Promise<BranchTip | null> {
      const commit = await tipOf(octokit, { owner, repo }, `refs/heads/${of}`);
      if (commit === null) return null;
      const { data } = await git.getCommit({ owner, repo, commit_sha: commit });
      return { commit, tree: data.tree.sha, message: data.message };
    },

    /** Id of a tree with the proposed files in it. */
    async treeOn(tree: string): Promise<string> {
      const blobs = files.map(({ path, content }) => ({ path, content, mode: "100644", type: "blob" }) as const);
      return (await git.createTree({ owner, repo, base_tree: tree, tree: blobs })).data.sha;
    },

    /** One commit on the newest base, in place of whatever the branch held. */
    async put(onto: BranchTip, tree: string, existing: BranchTip | null): Promise<void> {
      const message = `${proposal.message}\n\n${OURS}\n`;
      const { data } = await git.createCommit({ owner, repo, message, tree, parents: [onto.commit] });
      const ref = `refs/heads/${branch}`;
      if (existing === null) await git.createRef({ owner, repo, ref, sha: data.sha });
      else await git.updateRef({ owner, repo, ref: shortRef(ref), sha: data.sha, force: true });
    },

    /** The newest pull request from the branch, whatever became of it. */
    async newestPull(): Promise<KnownPull | null> {
      const head = `${owner}:${branch}`;
      const order = { sort: "created", direction: "desc", per_page: 10 } as const;
      const { data } = await pulls.list({ owner, repo, state: "all", head, base, ...order });
      const found = data.find((one) => one.head.ref === branch);
      if (found === undefined) return null;
      const { number, html_url: url, state, merged_at } = found;
      const fate = state === "open" ? "open" : merged_at == null ? "declined" : "merged";
      return { number, url, title: found.title, body: found.body ?? "", fate };
    },

    async create(): Promise<{ number: number; url: string }> {
      const { data } = await pulls.create({ owner, repo, head: branch, base, title, body });
      return { number: data.number, url: data.html_url };
    },

    async rename(number: number): Promise<void> {
      await pulls.update({ owner, repo, pull_number: number, title, body });
    },
  };
}

/**
 * Keep one pull request that proposes these files: opened once, then brought up to date on the same branch. A branch
 * that a person pushed to is left to them, and one whose pull request was closed unmerged is not proposed again until
 * the branch is deleted.
 * @throws what the client throws; a repository may forbid pull requests by Actions (403)
 */
export async function upsertProposal(
  octokit: Octokit,
  repository: Repository,
  proposal: Proposal,
): Promise<ProposalResult> {
  const branch = proposalBranch(octokit, repository, proposal);
  const base = await branch.tip(proposal.base);
  if (base === null) throw new Error(`the branch ${proposal.base} does not exist`);
  const existing = await branch.tip(proposal.branch);
  const newest = await branch.newestPull();
  if (existing !== null && newest?.fate === "declined") {
    return { action: "declined", number: newest.number, url: newest.url };
  }
  const pull = newest?.fate === "open" ? newest : null;
  await branch.make(existing !== null && pull !== null ? proposal.branch : proposal.base);
  const wanted = await branch.treeOn(base.tree);
  if (wanted === base.tree) return { action: "nothing" };
  if (existing !== null && pull !== null && !existing.message.includes(OURS)) {
    return { action: "left", number: pull.number, url: pull.url };
  }
  // The same files on an older base need no new commit: each push notifies the subscribers.
  const upToDate = existing !== null && pull !== null && (await branch.treeOn(existing.tree)) === existing.tree;
  if (!upToDate) await branch.put(base, wanted, existing);
  if (pull === null) return { action: "created", ...(await branch.create()) };
  const { number, url } = pull;
  const sameWords = pull.title === proposal.title && sameText(pull.body, proposal.body);
  if (!sameWords) await branch.rename(number);
  return { action: upToDate && sameWords ? "unchanged" : "updated", number, url };
}

/** Whether GitHub refuses pull requests by this token: by its permissions, or by the setting for Actions. */
export function pullRequestsRefused(error: unknown): boolean {
  return isStatus(error, 403, 404, 422);
}
