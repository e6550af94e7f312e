import { realpathSync } from "node:fs";
import path from "node:path";
import { messageOf } from "../core/errors.ts";
import { readEvent } from "../core/files.ts";
import { ciJob, type Environment, withTargetBranch } from "../core/process/environment.ts";
import { fetchMissing } from "./fetch.ts";
import { COMMIT, git, holding } from "./git.ts";

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

/** Maximum number of commits to look back. */
const MAX_ANCESTORS = 20_000;

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

/** Full names of a base. Git would prefer a tag of the short name, which an author can push. */
function refsOf(base: string): readonly string[] {
  if (base.startsWith(REMOTE)) return [`refs/remotes/${base}`];
  if (/^(?:refs\/|[0-9a-f]{40,64}$)/.test(base)) return [base];
  return [`refs/remotes/${base}`, `refs/remotes/${REMOTE}${base}`, `refs/heads/${base}`, base];
}

/** Commits whose runs may be compared with. */
export interface ComparableCommits {
  /** Null = unknown, so nothing is filtered. */
  readonly commits: ReadonlySet<string> | null;
  readonly warnings: readonly string[];
}

/** A checkout when its refs were frozen, or else when it was read. */
interface Checkout {
  /** Why the directory has no checkout that can be used; null where it has one. */
  readonly problem: string | null;
  /** Top of the work tree, else the directory itself. */
  readonly top: string;
  /** The directory from the top, with "/" at its end; "" = the top itself. */
  readonly prefix: string;
  /** The commit checked out; null before the first one. */
  readonly head: string | null;
  /** Whether history is missing, as it is outside a repository. */
  readonly isShallow: boolean;
  readonly isSubmodule: boolean;
}

/**
 * The repository of a directory, read once and handed on: what is checked out, the commit where that left the main
 * branch, and the files of commits. Outside a repository it has what the CI system names.
 */
export class RepositoryView {
  readonly cwd: string;
  readonly env: Environment;
  readonly checkout: Checkout;
  /** Source of history that the clone lacks. */
  readonly history: HistoryPort | undefined;
  #event: Promise<string | null> | undefined;
  /** Local merge bases by the bases that they were looked for with, and the ancestors of one. */
  readonly #localBases = new Map<string, Promise<string | null>>();
  readonly #ancestors = new Map<string, Promise<ReadonlySet<string> | null>>();

  constructor(cwd: string, checkout: Checkout, env: Environment, history?: HistoryPort) {
    this.cwd = cwd;
    this.checkout = checkout;
    this.env = env;
    this.history = history;
  }

  /** The same checkout in a job for a pull request into this branch. */
  into(branch: string): RepositoryView {
    return new RepositoryView(this.cwd, this.checkout, withTargetBranch(this.env, branch), this.history);
  }

  /** The commit checked out, which is what is measured; else the one that the CI system names, else null. */
  get commit(): string | null {
    const named = ciJob(this.env).commit ?? "";
    return this.checkout.head ?? (COMMIT.test(named) ? named : null);
  }

  /** Whether the clone has a commit. */
  async has(commit: string): Promise<boolean> {
    return (await git(this.cwd, ["cat-file", "-e", `${commit}^{commit}`])).ok;
  }

  /** Text of a file of a commit; null where it has none, or it cannot be read. @param file from the top */
  async fileAt(commit: string, file: string): Promise<string | null> {
    await fetchMissing(this.cwd, commit, file);
    const { ok, stdout } = await git(this.cwd, ["cat-file", "blob", `${commit}:${file}`]);
    return ok ? stdout : null;
  }

  /** The commit that a merge group or GitHub's merge of a pull request was made on, else the event's base; or null. */
  async #eventBase(): Promise<string | null> {
    const isQueued = queuedBranch(this.env) !== null;
    const { commit, ref, eventFile, targetBranch } = ciJob(this.env);
    if (eventFile === null || this.env.STORMLOG_GATE_BASE || !(isQueued || targetBranch !== null)) return null;
    try {
      const event = readEvent(eventFile) as EventPayload;
      const sha = isQueued ? event.merge_group?.base_sha : event.pull_request?.base?.sha;
      if (typeof sha !== "string" || !COMMIT.test(sha)) return null;
      if (!MERGED.test(ref ?? "")) return sha;
      // The event may be older than the merge. A shallow clone has no parents of HEAD, but the commit names them.
      const { stdout } = await git(this.cwd, ["cat-file", "--batch"], { input: "HEAD\n" });
      const [, head, parent] = /^(\w+) commit \d+\ntree \w+\nparent (\w+)\nparent /.exec(stdout) ?? [];
      return head === commit ? (parent ?? sha) : sha;
    } catch {
      return null;
    }
  }

  /** What a change may be based on, the surest first; empty where neither job nor event names anything. */
  async #namedBases(history: HistoryPort | null = this.history ?? null): Promise<readonly string[]> {
    this.#event ??= this.#eventBase();
    const remote = namedBase(this.env) === null ? ((await history?.baseBranch()) ?? null) : null;
    const named = remote === null ? namedBase(this.env) : `${REMOTE}${remote}`;
    return [await this.#event, named].filter((base) => base !== null);
  }

  #localBase(bases: readonly string[]): Promise<string | null> {
    return once(this.#localBases, bases.join("\n"), async () => {
      for (const ref of bases.flatMap(refsOf)) {
        const { ok, stdout } = await git(this.cwd, ["merge-base", "--end-of-options", "HEAD", ref]);
        if (ok && stdout !== "") return stdout;
      }
      return null;
    });
  }

  /**
   * The commit where the measured code left the main branch; null outside a repository, or when a shallow clone does
   * not contain it. Without a named base the usual names of a main branch are tried.
   */
  async mergeBase(): Promise<string | null> {
    const named = await this.#namedBases(null);
    return this.#localBase(named.length === 0 ? USUAL_BASES : named);
  }

  /**
   * {@link mergeBase}, from the port where the clone lacks the history: in a shallow one, or for a branch that is the
   * copy of a pull request. The commit may be missing from the clone. Null when unknown.
   */
  async baseCommit(): Promise<string | null> {
    try {
      const bases = await this.#namedBases();
      if (bases.length === 0) return await this.mergeBase();
      const local = this.checkout.isShallow ? null : await this.#localBase(bases);
      if (local !== null || this.history === undefined) return local ?? (await this.mergeBase());
      return await this.remoteMergeBase();
    } catch {
      return this.mergeBase();
    }
  }

  /**
   * {@link baseCommit} without guesses: the cut history of a shallow clone may name another commit, so only the port is
   * asked there.
   */
  async certainBase(): Promise<string | null> {
    return this.checkout.isShallow ? this.remoteMergeBase() : this.baseCommit();
  }

  /** The first merge base that the port knows; null without one. @param head the measured commit */
  async remoteMergeBase(head = this.checkout.head): Promise<string | null> {
    for (const base of head === null ? [] : await this.#namedBases()) {
      const branch = base.startsWith(REMOTE) ? base.slice(REMOTE.length) : base;
      const found = (await this.history?.mergeBase(head as string, branch)) ?? null;
      if (found !== null) return found;
    }
    return null;
  }

  /** Commits of the list that this clone does not contain, as after a squash merge or a force push. */
  async unknownCommits(commits: readonly string[]): Promise<ReadonlySet<string>> {
    const listed = [...new Set(commits)];
    if (listed.length === 0) return new Set();
    const { ok, stdout } = await git(this.cwd, ["cat-file", "--batch-check"], { input: `${listed.join("\n")}\n` });
    if (!ok) return new Set();
    return new Set(
      stdout.split("\n").flatMap((line) => (line.endsWith(" missing") ? [line.slice(0, -" missing".length)] : [])),
    );
  }

  /**
   * Commits whose baseline runs may be compared with: ancestors of the merge base on a pull request, of HEAD elsewhere.
   * They come from the clone, or, in a shallow one or one without the base branch, from the port. If neither knows
   * them, nothing is filtered and a warning reports it. Outside a repository the history is empty.
   * @param asked commits that the port looks up
   */
  async comparableCommits(
    asked: readonly string[],
    history: HistoryPort | null = this.history ?? null,
  ): Promise<ComparableCommits> {
    const { problem, head, isShallow } = this.checkout;
    if (problem !== null) return { commits: null, warnings: [] };
    const unchecked = (why: string): ComparableCommits => ({
      commits: null,
      warnings: [`baseline runs were not checked against the history${why}`],
    });
    try {
      const bases = await this.#namedBases(history);
      const local = isShallow ? null : await this.#localAncestors(bases);
      if (local !== null || asked.length === 0) return { commits: local, warnings: [] };
      if (history !== null) {
        if (head === null) throw new Error("HEAD is not a commit.");
        const from = bases.length === 0 ? head : await this.remoteMergeBase();
        return { commits: from === null ? new Set() : await history.behind(from, asked), warnings: [] };
      }
    } catch (error) {
      return unchecked(`. ${messageOf(error)}`);
    }
    return unchecked(
      isShallow ? ": the clone is shallow (fetch-depth: 0 gets all of it)" : ": the base branch is unknown",
    );
  }

  async #localAncestors(bases: readonly string[]): Promise<ReadonlySet<string> | null> {
    const from = bases.length === 0 ? "HEAD" : await this.#localBase(bases);
    if (from === null) return null;
    return once(this.#ancestors, from, async () => {
      const { ok, stdout } = await git(this.cwd, ["rev-list", `--max-count=${MAX_ANCESTORS}`, from]);
      return ok ? new Set(stdout.split("\n")) : null;
    });
  }
}

function once<T>(known: Map<string, Promise<T>>, key: string, find: () => Promise<T>): Promise<T> {
  const found = known.get(key) ?? find();
  known.set(key, found);
  return found;
}

/** View the repository of a directory. Never throws; while refs are frozen, no git is started. */
export async function viewRepository(
  cwd: string,
  env: Environment = {},
  history?: HistoryPort,
): Promise<RepositoryView> {
  return new RepositoryView(cwd, await readCheckout(cwd), env, history);
}

async function readCheckout(cwd: string): Promise<Checkout> {
  const outside = { top: cwd, prefix: "", head: null, isShallow: true, isSubmodule: false };
  const found = await holding(cwd);
  if (typeof found === "string") return { ...outside, problem: found };
  const { top, isSubmodule } = found.repository;
  try {
    const inside = path.relative(top, realpathSync(cwd)).split(path.sep).join("/");
    const held = found.names.head.trim();
    const { stdout } = COMMIT.test(held) ? { stdout: held } : await git(cwd, ["rev-parse", "--verify", "HEAD"]);
    return {
      problem: null,
      top,
      // A configured work tree may be elsewhere.
      prefix: inside === "" || /^\.\.(?:\/|$)/.test(inside) ? "" : `${inside}/`,
      head: COMMIT.test(stdout) ? stdout : null,
      isShallow: found.names.shallow !== null,
      isSubmodule,
    };
  } catch (error) {
    return { ...outside, problem: messageOf(error) };
  }
}

/** The repositories of a gate's directories, each read once. */
export type RepositoryViews = (directory: string) => Promise<RepositoryView>;

export function repositoryViews(env: Environment, history?: HistoryPort): RepositoryViews {
  const views = new Map<string, Promise<RepositoryView>>();
  return (directory) => once(views, directory, () => viewRepository(directory, env, history));
}
