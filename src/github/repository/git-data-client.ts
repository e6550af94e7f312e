import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { busy, depthOf, MAX_HISTORY, withDepth } from "../../baseline/store.ts";
import { GateError } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { apiFailure, isAmbiguous, isStatus } from "../api/degrade.ts";
import type { Octokit } from "../api/octokit.ts";
import type { Repository } from "../api/run-context.ts";
import { advance, replace, shortRef, tipOf } from "./ref-move.ts";

/** A file in the tree of a commit. */
export interface TreeFile {
  readonly path: string;
  /** Blob id. */
  readonly sha: string;
  /** Bytes; null where GitHub did not report it. */
  readonly size: number | null;
}

/** The tip of a ref when a change is made. */
export interface RefSnapshot {
  readonly commit: string;
  readonly files: readonly TreeFile[];
}

/** What a commit changes: contents by path, null = delete the file. */
type FileChanges = ReadonlyMap<string, Uint8Array | null>;

/** Files on a full ref (`refs/stormlog/baselines`) by the Git Data API: no clone, working tree or visible branch. */
export interface GitData {
  /** Tip of a ref; null when the ref does not exist. */
  snapshot(ref: string): Promise<RefSnapshot | null>;
  blob(sha: string): Promise<Uint8Array>;
  /**
   * Put one commit on a ref as a compare-and-swap, tried again when another writer was faster: `change` sees the newest
   * tip each time and may be called often. Returns the commit, or null when `change` wanted nothing.
   * @throws GateError BASELINE_STORE_BUSY when others were faster at every attempt, and what the client throws
   */
  commit(
    ref: string,
    message: string,
    change: (current: RefSnapshot | null) => Promise<FileChanges | null>,
  ): Promise<string | null>;
  /** Refs whose full name begins with a prefix. */
  refs(prefix: string): Promise<readonly { readonly ref: string; readonly commit: string }[]>;
  /** Absent refs are no error. */
  deleteRef(ref: string): Promise<void>;
}

export interface GitDataOptions {
  /** Maximum duration of one commit with all its attempts, milliseconds. */
  readonly budgetMs?: number;
  /** Commits on a ref before the next one begins a new root. */
  readonly maxHistory?: number;
  readonly log?: (line: string) => void;
}

/** Thirty writers that each need three writes a second apart take a minute and a half in the worst order. */
const DEFAULT_BUDGET_MS = 240_000;
const MAX_ATTEMPTS = 200;
/** Maximum of lost answers and "object not there (yet)" in one commit. */
const MAX_HICCUPS = 3;
/** Text up to this size is sent with the tree instead of in a separate request, bytes. */
const MAX_INLINE_BYTES = 256 * 1024;
/** A tip read longer ago than this is looked at again before more is written on top of it, milliseconds. */
const FRESH_MS = 250;

interface Tip extends RefSnapshot {
  readonly tree: string;
  readonly depth: number;
}

type TreeChange = { readonly path: string; readonly mode: "100644"; readonly type: "blob" } & (
  | { readonly sha: string | null }
  | { readonly content: string }
);

/** Id that git gives a file's content, SHA-1, hex. */
function blobId(content: Uint8Array): string {
  return createHash("sha1").update(`blob ${content.byteLength}\0`).update(content).digest("hex");
}

/** The content as text that survives as it is, or null. */
function inlineText(content: Uint8Array): string | null {
  if (content.byteLength > MAX_INLINE_BYTES || content.includes(0)) return null;
  const text = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("utf8");
  return Buffer.from(text, "utf8").equals(content) ? text : null;
}

class GitDataClient implements GitData {
  readonly #octokit: Octokit;
  readonly #repository: Repository;
  readonly #budgetMs: number;
  readonly #maxHistory: number;
  readonly #log: (line: string) => void;
  readonly #uploaded = new Set<string>();
  #squashRefused = false;

  constructor(octokit: Octokit, repository: Repository, options: GitDataOptions) {
    this.#octokit = octokit;
    this.#repository = { owner: repository.owner, repo: repository.repo };
    this.#budgetMs = options.budgetMs ?? DEFAULT_BUDGET_MS;
    this.#maxHistory = options.maxHistory ?? MAX_HISTORY;
    this.#log = options.log ?? (() => {});
  }

  async snapshot(ref: string): Promise<RefSnapshot | null> {
    const commit = await tipOf(this.#octokit, this.#repository, ref);
    return commit === null ? null : { commit, files: await this.#files(commit) };
  }

  async blob(sha: string): Promise<Uint8Array> {
    const { data } = await this.#octokit.rest.git.getBlob({ ...this.#repository, file_sha: sha });
    const content = Buffer.from(data.content, data.encoding === "base64" ? "base64" : "utf8");
    if (sha.length === 40 && blobId(content) !== sha) {
      throw new GateError("GIT_OBJECT_DAMAGED", `GitHub answered other bytes than those of object ${sha}`, {
        where: sha,
        hint: "Run the job again.",
      });
    }
    return content;
  }

  async commit(
    ref: string,
    message: string,
    change: (current: RefSnapshot | null) => Promise<FileChanges | null>,
  ): Promise<string | null> {
    const end = performance.now() + this.#budgetMs;
    let hiccups = 0;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS && performance.now() < end; attempt += 1) {
      const begun = performance.now();
      try {
        const done = await this.#attempt(ref, message, change);
        if (done !== "lost") return done.commit;
      } catch (error) {
        hiccups += 1;
        if (!this.#passes(error) || hiccups > MAX_HICCUPS) throw error;
      }
      // As long as an attempt takes, times a random factor that grows: writers that met once spread out.
      const spread = (performance.now() - begun) * Math.min(attempt, 6);
      await delay(Math.min(Math.random() * spread, Math.max(0, end - performance.now())));
    }
    throw busy(ref);
  }

  async refs(prefix: string): Promise<readonly { readonly ref: string; readonly commit: string }[]> {
    const found = await this.#octokit.paginate(this.#octokit.rest.git.listMatchingRefs, {
      ...this.#repository,
      ref: shortRef(prefix),
    });
    return found.map(({ ref, object }) => ({ ref, commit: object.sha })).filter(({ ref }) => ref.startsWith(prefix));
  }

  async deleteRef(ref: string): Promise<void> {
    try {
      await this.#octokit.rest.git.deleteRef({ ...this.#repository, ref: shortRef(ref) });
    } catch (error) {
      const { status, message } = apiFailure(error);
      if (status !== 404 && !(status === 422 && /does not exist/i.test(message))) throw error;
    }
  }

  /** Whether an error of an attempt may be gone at the next one: objects just written elsewhere appear with a delay. */
  #passes(error: unknown): boolean {
    if (isStatus(error, 409)) return true;
    if (isStatus(error, 422)) return /not exist|not found|BadObjectState/i.test(apiFailure(error).message);
    return isAmbiguous(error) && typeof error === "object" && error !== null && "status" in error;
  }

  async #files(commit: string): Promise<readonly TreeFile[]> {
    const { data } = await this.#octokit.rest.git.getTree({ ...this.#repository, tree_sha: commit, recursive: "1" });
    if (data.truncated) {
      throw new GateError("GIT_TREE_TRUNCATED", `GitHub listed only part of the files of commit ${commit}`, {
        where: commit,
        hint: "The ref holds more files than one answer can list: delete those of scenarios that are gone.",
      });
    }
    return data.tree.flatMap(({ type, path, sha, size }) =>
      type === "blob" ? [{ path, sha, size: size ?? null }] : [],
    );
  }

  async #tip(ref: string): Promise<Tip | null> {
    const commit = await tipOf(this.#octokit, this.#repository, ref);
    if (commit === null) return null;
    const [{ data }, files] = await Promise.all([
      this.#octokit.rest.git.getCommit({ ...this.#repository, commit_sha: commit }),
      this.#files(commit),
    ]);
    return { commit, files, tree: data.tree.sha, depth: depthOf(data.message) };
  }

  async #attempt(
    ref: string,
    message: string,
    change: (current: RefSnapshot | null) => Promise<FileChanges | null>,
  ): Promise<{ readonly commit: string | null } | "lost"> {
    const read = performance.now();
    const tip = await this.#tip(ref);
    const changes = await change(tip);
    if (changes === null) return { commit: null };
    const entries = await this.#entries(changes, tip);
    if (entries.length === 0) return { commit: tip?.commit ?? null };
    if (await this.#isStale(ref, tip, read)) return "lost";
    const tree = await this.#octokit.rest.git.createTree({
      ...this.#repository,
      tree: entries,
      ...(tip === null ? {} : { base_tree: tip.tree }),
    });
    if (await this.#isStale(ref, tip, read)) return "lost";
    return this.#move(ref, message, tip, tree.data.sha);
  }

  /** Whether another writer was faster during this attempt: then nothing more needs to be written for it. */
  async #isStale(ref: string, tip: Tip | null, readMs: number): Promise<boolean> {
    if (performance.now() - readMs < FRESH_MS) return false;
    return (await tipOf(this.#octokit, this.#repository, ref)) !== (tip?.commit ?? null);
  }

  /** Only what differs from the tip; contents GitHub does not have yet are sent. */
  async #entries(changes: FileChanges, tip: Tip | null): Promise<TreeChange[]> {
    const known = new Map(tip?.files.map(({ path, sha }) => [path, sha]) ?? []);
    const entries: TreeChange[] = [];
    for (const [path, content] of changes) {
      const file = { path, mode: "100644", type: "blob" } as const;
      if (content === null) {
        // Deleting what is not there is an error for GitHub.
        if (known.has(path)) entries.push({ ...file, sha: null });
        continue;
      }
      const id = blobId(content);
      if (known.get(path) === id) continue;
      const text = inlineText(content);
      entries.push(text === null ? { ...file, sha: await this.#upload(id, content) } : { ...file, content: text });
    }
    return entries;
  }

  async #upload(id: string, content: Uint8Array): Promise<string> {
    if (this.#uploaded.has(id)) return id;
    const base64 = Buffer.from(content).toString("base64");
    const { data } = await this.#octokit.rest.git.createBlob({
      ...this.#repository,
      content: base64,
      encoding: "base64",
    });
    if (data.sha === id) this.#uploaded.add(id);
    return data.sha;
  }

  async #move(
    ref: string,
    message: string,
    tip: Tip | null,
    tree: string,
  ): Promise<{ readonly commit: string } | "lost"> {
    const create = async (parents: string[], depth: number): Promise<string> => {
      const text = withDepth(message, depth);
      const { data } = await this.#octokit.rest.git.createCommit({ ...this.#repository, message: text, tree, parents });
      return data.sha;
    };
    if (tip !== null && tip.depth >= this.#maxHistory && !this.#squashRefused) {
      const root = await create([], 1);
      const result = await replace(this.#octokit, this.#repository, { ref, from: tip.commit, to: root });
      if (result === "moved") return { commit: root };
      if (result === "lost") return "lost";
      this.#squashRefused = true;
      this.#log(
        `The history of ${ref} stays as long as it is: GitHub refused: ${escapeTerminal(apiFailure(result.refused).message)}`,
      );
    }
    const from = tip?.commit ?? null;
    const commit = await create(from === null ? [] : [from], (tip?.depth ?? 0) + 1);
    return (await advance(this.#octokit, this.#repository, { ref, from, to: commit })) ? { commit } : "lost";
  }
}

/** Files on refs of a repository over GitHub's API. */
export function openGitData(octokit: Octokit, repository: Repository, options: GitDataOptions = {}): GitData {
  return new GitDataClient(octokit, repository, options);
}
