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

/** `ref:NAME`: records in the tree of a hidden ref of this clone, each change one commit. */
export function openGitStore(name: string, cwd: string, ref: string): BaselineStore {
  async function tipOf(): Promise<string | null> {
    const { ok, stdout } = await git(cwd, ["rev-parse", "--verify", "--quiet", `${ref}^{commit}`]);
    return ok && stdout !== "" ? stdout : null;
  }

  /** One compare-and-swap; null when the ref moved in between. */
  async function attempt(
    key: string,
    index: string,
    change: (current: BaselineRecord | null) => BaselineRecord,
  ): Promise<StoredRecord | null> {
    const must = async (args: readonly string[], input?: string): Promise<string> => {
      const env = { ...AUTHOR, GIT_INDEX_FILE: index };
      const { ok, stdout, stderr } = await git(cwd, args, input === undefined ? { env } : { env, input });
      if (!ok) throw unwritable(name, stderr.split("\n")[0] ?? "git failed");
      return stdout;
    };
    const tip = await tipOf();
    let current: BaselineRecord | null = null;
    if (tip !== null) {
      const blob = await git(cwd, ["cat-file", "blob", `${tip}:${key}`]);
      const parsed = blob.ok ? parseStored(key, blob.stdout) : null;
      if (parsed !== null && "skipped" in parsed) throw unwritable(name, parsed.skipped);
      current = parsed?.record ?? null;
      await must(["read-tree", tip]);
    }
    const record = pruneRecord(change(current));
    const blob = await must(["hash-object", "-w", "--stdin"], serializeRecord(record));
    await must(["update-index", "--add", "--cacheinfo", `100644,${blob},${key}`]);
    const tree = await must(["write-tree"]);
    const parents = tip === null ? [] : ["-p", tip];
    const depth = tip === null ? 0 : depthOf(await must(["log", "-1", "--format=%B", tip]));
    const message = withDepth(`Baseline of ${key}`, depth + 1);
    const commit = await must(["commit-tree", tree, ...parents], message);
    const swapped = await git(cwd, ["update-ref", ref, commit, tip ?? "0".repeat(40)]);
    return swapped.ok ? { name: key, record } : null;
  }

  return {
    name,
    kind: "ref",

    async list(scenario?: string): Promise<StoreContent> {
      const inside = await git(cwd, ["rev-parse", "--git-dir"]);
      const tip = inside.ok ? await tipOf() : null;
      if (tip === null) return { exists: false, records: [], skipped: [] };
      const listing = await git(cwd, ["ls-tree", "-r", "--name-only", "-z", tip]);
      if (!listing.ok)
        throw invalidInput("BASELINE_STORE_UNREADABLE", `${name} cannot be read: ${listing.stderr}`, ref);
      const texts: { name: string; text: string | null }[] = [];
      const directory = scenario === undefined ? "" : `${scenarioDirectory(scenario)}/`;
      const names = listing.stdout.split("\0").filter((one) => isRecordName(one) && one.startsWith(directory));
      for (const file of names) {
        const blob = await git(cwd, ["cat-file", "blob", `${tip}:${file}`]);
        texts.push({ name: file, text: blob.ok ? blob.stdout : null });
      }
      return contentOf(texts);
    },

    async update(
      scenario: string,
      fingerprint: Fingerprint,
      change: (current: BaselineRecord | null) => BaselineRecord,
    ): Promise<StoredRecord> {
      const key = recordName(scenario, fingerprint);
      const directory = await mkdtemp(path.join(tmpdir(), "stormlog-gate-index-"));
      try {
        for (let round = 0; round < ATTEMPTS; round += 1) {
          const written = await attempt(key, path.join(directory, `index-${round}`), change);
          if (written !== null) return written;
          await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(500, 20 * (round + 1))));
        }
        throw busy(name);
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    },
  };
}
