import { readFileSync } from "node:fs";
import type { Environment } from "../core/environment.ts";
import { messageOf } from "../core/errors.ts";
import { git } from "../git/git.ts";
import type { HistoryPort } from "./history-port.ts";

const REMOTE = "origin/";
const USUAL_BASES = ["origin/HEAD", "origin/main", "origin/master", "refs/heads/main", "refs/heads/master"];

/** Branches of GitHub's merge queue contain the name of their target branch. */
const QUEUED = /^refs\/heads\/gh-readonly-queue\/(.+)\/pr-\d+-[0-9a-f]{40,64}$/;

/** The target branch of a merge group; null elsewhere. */
export function queuedBranch({ GITHUB_EVENT_NAME, GITHUB_REF }: Environment): string | null {
  return GITHUB_EVENT_NAME === "merge_group" ? (QUEUED.exec(GITHUB_REF ?? "")?.[1] ?? null) : null;
}

/** The target branch of a pull request or of a merge group, from the environment. */
export function namedBase(env: Environment): string | null {
  if (env.STORMLOG_GATE_BASE) return env.STORMLOG_GATE_BASE;
  const branch = env.GITHUB_BASE_REF || queuedBranch(env);
  return branch ? `${REMOTE}${branch}` : null;
}

/** The commit that a merge group was made on, which has the pull requests ahead in the queue; null elsewhere. */
function queuedParent({ GITHUB_EVENT_NAME, GITHUB_EVENT_PATH }: Environment): string | null {
  if (GITHUB_EVENT_NAME !== "merge_group" || !GITHUB_EVENT_PATH) return null;
  try {
    const event = JSON.parse(readFileSync(GITHUB_EVENT_PATH, "utf8")) as { merge_group?: { base_sha?: unknown } };
    const sha = event.merge_group?.base_sha;
    return typeof sha === "string" && /^[0-9a-f]{40,64}$/.test(sha) ? sha : null;
  } catch {
    return null;
  }
}

/**
 * The commit where the measured code left the main branch; null outside a repository, or when a shallow clone does not
 * contain it. Without a named base the usual names of a main branch are tried.
 */
export async function mergeBase(cwd: string, env: Environment): Promise<string | null> {
  const queued = await queuedBase(cwd, env);
  if (queued !== null) return queued;
  const named = namedBase(env);
  for (const ref of named === null ? USUAL_BASES : [named]) {
    const found = await mergeBaseWith(cwd, ref);
    if (found !== null) return found;
  }
  return null;
}

/**
 * {@link mergeBase}, from the port where the clone lacks the history: in a shallow one, or for a branch that is the
 * copy of a pull request. The commit may be missing from the clone. Null when unknown.
 */
export async function baseCommit({ cwd, env, history }: History): Promise<string | null> {
  try {
    const queued = await queuedBase(cwd, env);
    if (queued !== null) return queued;
    const base = namedBase(env) ?? (await remoteBase(history));
    const shallow = (await git(cwd, ["rev-parse", "--is-shallow-repository"])).stdout === "true";
    const local = base === null ? await mergeBase(cwd, env) : shallow ? null : await mergeBaseWith(cwd, base);
    if (local !== null || base === null || history === undefined) return local ?? (await mergeBase(cwd, env));
    const head = await git(cwd, ["rev-parse", "--verify", "HEAD"]);
    return head.ok ? await history.mergeBase(head.stdout, branchOf(base)) : null;
  } catch {
    return mergeBase(cwd, env);
  }
}

/**
 * {@link baseCommit} without guesses: the cut history of a shallow clone may name another commit, so only the port is
 * asked there.
 */
export async function certainBase(history: History): Promise<string | null> {
  const { cwd, env, history: port } = history;
  if ((await git(cwd, ["rev-parse", "--is-shallow-repository"])).stdout === "false") return baseCommit(history);
  const base = namedBase(env) ?? (await remoteBase(port));
  const head = await git(cwd, ["rev-parse", "--verify", "HEAD"]);
  return base === null || port === undefined || !head.ok ? null : port.mergeBase(head.stdout, branchOf(base));
}

const branchOf = (base: string): string => (base.startsWith(REMOTE) ? base.slice(REMOTE.length) : base);

/** The parent of a merge group, where the clone has it; null elsewhere. */
async function queuedBase(cwd: string, env: Environment): Promise<string | null> {
  const parent = queuedParent(env);
  return parent === null ? null : mergeBaseWith(cwd, parent);
}

/** Full names of a base. Git would prefer a tag of the short name, which an author can push. */
function refsOf(base: string): readonly string[] {
  if (base.startsWith(REMOTE)) return [`refs/remotes/${base}`];
  if (/^(?:refs\/|[0-9a-f]{40,64}$)/.test(base)) return [base];
  return [`refs/remotes/${base}`, `refs/remotes/${REMOTE}${base}`, `refs/heads/${base}`, base];
}

async function mergeBaseWith(cwd: string, base: string): Promise<string | null> {
  for (const ref of refsOf(base)) {
    const { ok, stdout } = await git(cwd, ["merge-base", "--end-of-options", "HEAD", ref]);
    if (ok && stdout !== "") return stdout;
  }
  return null;
}

/** Commits of the list that this clone does not contain, as after a squash merge or a force push. */
export async function unknownCommits(cwd: string, commits: readonly string[]): Promise<ReadonlySet<string>> {
  const listed = [...new Set(commits)];
  if (listed.length === 0) return new Set();
  const { ok, stdout } = await git(cwd, ["cat-file", "--batch-check"], { input: `${listed.join("\n")}\n` });
  if (!ok) return new Set();
  return new Set(
    stdout.split("\n").flatMap((line) => (line.endsWith(" missing") ? [line.slice(0, -" missing".length)] : [])),
  );
}

/** Maximum number of commits to look back. */
const MAX_ANCESTORS = 20_000;

/** Commits whose runs may be compared with. */
export interface ComparableCommits {
  /** Null = unknown, so nothing is filtered. */
  readonly commits: ReadonlySet<string> | null;
  readonly warnings: readonly string[];
}

export interface History {
  readonly cwd: string;
  readonly env: Environment;
  /** Source of history that the clone lacks. */
  readonly history?: HistoryPort | undefined;
}

/**
 * Commits whose baseline runs may be compared with: ancestors of the merge base on a pull request, of HEAD elsewhere.
 * They come from the clone, or, in a shallow one or one without the base branch, from the port. If neither knows them,
 * nothing is filtered and a warning reports it. Outside a repository the history is empty.
 * @param asked commits that the port looks up
 */
export async function comparableCommits(
  { cwd, env, history }: History,
  asked: readonly string[],
): Promise<ComparableCommits> {
  const shallow = await git(cwd, ["rev-parse", "--is-shallow-repository"]);
  if (!shallow.ok) return { commits: null, warnings: [] };
  try {
    const base = namedBase(env) ?? (await remoteBase(history));
    const local = shallow.stdout === "true" ? null : await localAncestors(cwd, base);
    if (local !== null) return { commits: local, warnings: [] };
    if (asked.length === 0) return { commits: null, warnings: [] };
    if (history !== undefined) return { commits: await askedAncestors(cwd, base, history, asked), warnings: [] };
  } catch (error) {
    return { commits: null, warnings: [`baseline runs were not checked against the history. ${messageOf(error)}`] };
  }
  const reason =
    shallow.stdout === "true" ? "the clone is shallow (fetch-depth: 0 gets all of it)" : "the base branch is unknown";
  return { commits: null, warnings: [`baseline runs were not checked against the history: ${reason}`] };
}

async function remoteBase(history: HistoryPort | undefined): Promise<string | null> {
  const branch = (await history?.baseBranch()) ?? null;
  return branch === null ? null : `${REMOTE}${branch}`;
}

async function localAncestors(cwd: string, base: string | null): Promise<ReadonlySet<string> | null> {
  const from = base === null ? "HEAD" : await mergeBaseWith(cwd, base);
  if (from === null) return null;
  const { ok, stdout } = await git(cwd, ["rev-list", `--max-count=${MAX_ANCESTORS}`, from]);
  return ok ? new Set(stdout.split("\n")) : null;
}

async function askedAncestors(
  cwd: string,
  base: string | null,
  history: HistoryPort,
  asked: readonly string[],
): Promise<ReadonlySet<string>> {
  const head = await git(cwd, ["rev-parse", "--verify", "HEAD"]);
  if (!head.ok) throw new Error("HEAD is not a commit.");
  const from = base === null ? head.stdout : await history.mergeBase(head.stdout, branchOf(base));
  return from === null ? new Set() : history.behind(from, asked);
}
