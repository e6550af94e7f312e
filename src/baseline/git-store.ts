import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { invalidInput } from "../core/errors.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import { git } from "./git.ts";
import { depthOf, withDepth } from "./history.ts";
import type { BaselineRecord } from "./record.ts";
import { pruneRecord, serializeRecord } from "./record-size.ts";
import { scenarioDirectory } from "./scenario-name.ts";
import {
  type BaselineStore,
  busy,
  contentOf,
  isRecordName,
  parseStored,
  recordName,
  type StoreContent,
  type StoredRecord,
  unwritable,
} from "./store.ts";

const ATTEMPTS = 60;

/** Commits of the store are authored by the gate, not by the user. */
const AUTHOR = {
  GIT_AUTHOR_NAME: "stormlog-gate",
  GIT_AUTHOR_EMAIL: "stormlog-gate@localhost",
  GIT_COMMITTER_NAME: "stormlog-gate",
  GIT_COMMITTER_EMAIL: "stormlog-gate@localhost",
};

class GitStore implements BaselineStore {
  readonly name: string;
  readonly kind = "ref";
  readonly #cwd: string;
  readonly #ref: string;

  constructor(name: string, cwd: string, ref: string) {
    this.name = name;
    this.#cwd = cwd;
    this.#ref = ref;
  }

  async #tip(): Promise<string | null> {
    const { ok, stdout } = await git(this.#cwd, ["rev-parse", "--verify", "--quiet", `${this.#ref}^{commit}`]);
    return ok && stdout !== "" ? stdout : null;
  }

  async list(scenario?: string): Promise<StoreContent> {
    const inside = await git(this.#cwd, ["rev-parse", "--git-dir"]);
    const tip = inside.ok ? await this.#tip() : null;
    if (tip === null) return { exists: false, records: [], skipped: [] };
    const listing = await git(this.#cwd, ["ls-tree", "-r", "--name-only", "-z", tip]);
    if (!listing.ok)
      throw invalidInput("BASELINE_STORE_UNREADABLE", `${this.name} cannot be read: ${listing.stderr}`, this.#ref);
    const texts: { name: string; text: string | null }[] = [];
    const directory = scenario === undefined ? "" : `${scenarioDirectory(scenario)}/`;
    const names = listing.stdout.split("\0").filter((one) => isRecordName(one) && one.startsWith(directory));
    for (const name of names) {
      const blob = await git(this.#cwd, ["cat-file", "blob", `${tip}:${name}`]);
      texts.push({ name, text: blob.ok ? blob.stdout : null });
    }
    return contentOf(texts);
  }

  async update(
    scenario: string,
    fingerprint: Fingerprint,
    change: (current: BaselineRecord | null) => BaselineRecord,
  ): Promise<StoredRecord> {
    const name = recordName(scenario, fingerprint);
    const directory = await mkdtemp(path.join(tmpdir(), "stormlog-gate-index-"));
    try {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const written = await this.#attempt(name, path.join(directory, `index-${attempt}`), change);
        if (written !== null) return written;
        await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(500, 20 * (attempt + 1))));
      }
      throw busy(this.name);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }

  /** One compare-and-swap; null when the ref moved in between. */
  async #attempt(
    name: string,
    index: string,
    change: (current: BaselineRecord | null) => BaselineRecord,
  ): Promise<StoredRecord | null> {
    const must = async (args: readonly string[], input?: string): Promise<string> => {
      const env = { ...AUTHOR, GIT_INDEX_FILE: index };
      const { ok, stdout, stderr } = await git(this.#cwd, args, input === undefined ? { env } : { env, input });
      if (!ok) throw unwritable(this.name, stderr.split("\n")[0] ?? "git failed");
      return stdout;
    };
    const tip = await this.#tip();
    let current: BaselineRecord | null = null;
    if (tip !== null) {
      const blob = await git(this.#cwd, ["cat-file", "blob", `${tip}:${name}`]);
      const parsed = blob.ok ? parseStored(name, blob.stdout) : null;
      if (parsed !== null && "skipped" in parsed) throw unwritable(this.name, parsed.skipped);
      current = parsed?.record ?? null;
      await must(["read-tree", tip]);
    }
    const record = pruneRecord(change(current));
    const blob = await must(["hash-object", "-w", "--stdin"], serializeRecord(record));
    await must(["update-index", "--add", "--cacheinfo", `100644,${blob},${name}`]);
    const tree = await must(["write-tree"]);
    const parents = tip === null ? [] : ["-p", tip];
    const depth = tip === null ? 0 : depthOf(await must(["log", "-1", "--format=%B", tip]));
    const message = withDepth(`Baseline of ${name}`, depth + 1);
    const commit = await must(["commit-tree", tree, ...parents], message);
    const swapped = await git(this.#cwd, ["update-ref", this.#ref, commit, tip ?? "0".repeat(40)]);
    return swapped.ok ? { name, record } : null;
  }
}

/** `ref:NAME`: records in the tree of a hidden ref of this clone, each change one commit. */
export function openGitStore(name: string, cwd: string, ref: string): BaselineStore {
  return new GitStore(name, cwd, ref);
}
