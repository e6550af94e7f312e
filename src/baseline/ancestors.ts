import { messageOf } from "../core/errors.ts";
import { readEvent } from "../core/files.ts";
import { ciJob, type Environment } from "../core/process/environment.ts";
import { COMMIT, git } from "../git/git.ts";

/** A remote that has all of a repository's history, for questions a clone cannot answer. All methods may throw. */
export interface HistoryPort {
  /** Target branch of the measured commit, where the environment does not contain it; null = none. */
  baseBranch(): Promise<string | null>;
  /** Commit where `head` left a branch; null without a common ancestor. */
  mergeBase(head: string, branch: string): Promise<string | null>;
  /** Those of the commits that are `tip` or its ancestors. An unknown commit is not. */
  behind(tip: string, commits: readonly string[]): Promise<ReadonlySet<string>>;
}

const REMOTE = "origin/";
const USUAL_BASES = ["origin/HEAD", "origin/main", "origin/master", "refs/heads/main", "refs/heads/master"];

/** Branches of GitHub's merge queue contain the name of their target branch. */
const QUEUED = /^refs\/heads\/gh-readonly-queue\/(.+)\/pr-\d+-[0-9a-f]{40,64}$/;

/** The ref of GitHub's merge of a pull request, whose first parent is the base branch. */
const MERGED = /^refs\/pull\/\d+\/merge$/;

interface EventPayload {
  readonly merge_group?: { readonly base_sha?: unknown };
  readonly pull_request?: { readonly base?: { readonly sha?: unknown } };
}

/** The target branch of a merge group; null elsewhere. */
export function queuedBranch(env: Environment): string | null {
  const { eventName, ref } = ciJob(env);
  return eventName === "merge_group" ? (QUEUED.exec(ref ?? "")?.[1] ?? null) : null;
}

/** The target branch of a pull request or of a merge group, from the environment. */
export function namedBase(env: Environment): string | null {
  if (env.STORMLOG_GATE_BASE) return env.STORMLOG_GATE_BASE;
  const branch = ciJob(env).targetBranch ?? queuedBranch(env);
  return branch ? `${REMOTE}${branch}` : null;
}

/** The commit that a merge group or GitHub's merge of a pull request was made on, else the event's base; or null. */
async function eventBase(cwd: string, env: Environment): Promise<string | null> {
  const isQueued = queuedBranch(env) !== null;
  const { commit, ref, eventFile, targetBranch } = ciJob(env);
  if (eventFile === null || env.STORMLOG_GATE_BASE || !(isQueued || targetBranch !== null)) return null;
  try {
    const event = readEvent(eventFile) as EventPayload;
    const sha = isQueued ? event.merge_group?.base_sha : event.pull_request?.base?.sha;
    if (typeof sha !== "string" || !COMMIT.test(sha)) return null;
    if (!MERGED.test(ref ?? "")) return sha;
    // The event may be older than the merge. A shallow clone has no parents of HEAD, but the commit names them.
    const { stdout } = await git(cwd, ["cat-file", "--batch"], { input: "HEAD\n" });
    const [, head, parent] = /^(\w+) commit \d+\ntree \w+\nparent (\w+)\nparent /.exec(stdout) ?? [];
    return head === commit ? (parent ?? sha) : sha;
  } catch {
    return null;
  }
}

/** What a change may be based on, the surest first; empty where neither job nor event names anything. */
export async function namedBases({ cwd, env, history }: History): Promise<readonly string[]> {
  const bases = [await eventBase(cwd, env), namedBase(env) ?? (await remoteBase(history))];
  return bases.filter((base) => base !== null);
}

/**
 * The commit where the measured code left the main branch; null outside a repository, or when a shallow clone does not
 * contain it. Without a named base the usual names of a main branch are tried.
 */
export async function mergeBase(cwd: string, env: Environment): Promise<string | null> {
  const named = await namedBases({ cwd, env });
  return localBase(cwd, named.length === 0 ? USUAL_BASES : named);
}

/**
 * {@link mergeBase}, from the port where the clone lacks the history: in a shallow one, or for a branch that is the
 * copy of a pull request. The commit may be missing from the clone. Null when unknown.
 */
export async function baseCommit(history: History): Promise<string | null> {
  const { cwd, env } = history;
  try {
    const bases = await namedBases(history);
    if (bases.length === 0) return await mergeBase(cwd, env);
    const local = (await isShallow(cwd)) ? null : await localBase(cwd, bases);
    if (local !== null || history.history === undefined) return local ?? (await mergeBase(cwd, env));
    return await remoteMergeBase(history, bases);
  } catch {
    return mergeBase(cwd, env);
  }
}

/**
 * {@link baseCommit} without guesses: the cut history of a shallow clone may name another commit, so only the port is
 * asked there.
 */
export async function certainBase(history: History): Promise<string | null> {
  return (await isShallow(history.cwd)) ? remoteMergeBase(history, await namedBases(history)) : baseCommit(history);
}

async function isShallow(cwd: string): Promise<boolean> {
  return (await git(cwd, ["rev-parse", "--is-shallow-repository"])).stdout !== "false";
}

/** {@link mergeBase} by the port; null without one. */
async function remoteMergeBase({ cwd, history }: History, bases: readonly string[]): Promise<string | null> {
  const head = await git(cwd, ["rev-parse", "--verify", "HEAD"]);
  return head.ok ? portBase(history, head.stdout, bases) : null;
}

/** The first merge base that the port knows. */
export async function portBase(
  history: HistoryPort | undefined,
  head: string,
  bases: readonly string[],
): Promise<string | null> {
  for (const base of bases) {
    const found = (await history?.mergeBase(head, base.startsWith(REMOTE) ? base.slice(REMOTE.length) : base)) ?? null;
    if (found !== null) return found;
  }
  return null;
}

/** Full names of a base. Git would prefer a tag of the short name, which an author can push. */
function refsOf(base: string): readonly string[] {
  if (base.startsWith(REMOTE)) return [`refs/remotes/${base}`];
  if (/^(?:refs\/|[0-9a-f]{40,64}$)/.test(base)) return [base];
  return [`refs/remotes/${base}`, `refs/remotes/${REMOTE}${base}`, `refs/heads/${base}`, base];
}

async function localBase(cwd: string, bases: readonly string[]): Promise<string | null> {
  for (const ref of bases.flatMap(refsOf)) {
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
    const bases = await namedBases({ cwd, env, history });
    const local = shallow.stdout === "true" ? null : await localAncestors(cwd, bases);
    if (local !== null) return { commits: local, warnings: [] };
    if (asked.length === 0) return { commits: null, warnings: [] };
    if (history !== undefined) return { commits: await askedAncestors(cwd, bases, history, asked), warnings: [] };
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

async function localAncestors(cwd: string, bases: readonly string[]): Promise<ReadonlySet<string> | null> {
  const from = bases.length === 0 ? "HEAD" : await localBase(cwd, bases);
  if (from === null) return null;
  const { ok, stdout } = await git(cwd, ["rev-list", `--max-count=${MAX_ANCESTORS}`, from]);
  return ok ? new Set(stdout.split("\n")) : null;
}

async function askedAncestors(
  cwd: string,
  bases: readonly string[],
  history: HistoryPort,
  asked: readonly string[],
): Promise<ReadonlySet<string>> {
  const head = await git(cwd, ["rev-parse", "--verify", "HEAD"]);
  if (!head.ok) throw new Error("HEAD is not a commit.");
  const from = bases.length === 0 ? head.stdout : await portBase(history, head.stdout, bases);
  return from === null ? new Set() : history.behind(from, asked);
}
