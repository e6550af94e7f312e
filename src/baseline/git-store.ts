import { invalidInput } from "../core/errors.ts";
import { fetchMissing } from "../git/fetch.ts";
import { git } from "../git/git.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import { scenarioDirectory } from "./identity.ts";
import type { BaselineRecord } from "./record.ts";
import {
  type BaselineStore,
  busy,
  changedRecord,
  contentOf,
  depthOf,
  isStoredName,
  peakName,
  recordName,
  type StoreContent,
  type StoredRecord,
  unwritable,
  withDepth,
} from "./store.ts";

const ATTEMPTS = 60;

/** The new text of a file of the store, from its text or null, with what the writer returns. */
type Write<T> = (current: string | null) => { readonly text: string; readonly value: T };

/** Commits of the store are authored by the gate, not by the user. */
const AUTHOR = {
  GIT_AUTHOR_NAME: "stormlog-gate",
  GIT_AUTHOR_EMAIL: "stormlog-gate@localhost",
  GIT_COMMITTER_NAME: "stormlog-gate",
  GIT_COMMITTER_EMAIL: "stormlog-gate@localhost",
};

/** `ref:NAME`: records in the tree of a hidden ref of this clone, each change one commit. */
export function openGitStore(name: string, cwd: string, ref: string): BaselineStore {
  async function tipOf(live: boolean): Promise<string | null> {
    const { ok, stdout } = await git(cwd, ["rev-parse", "--verify", "--quiet", `${ref}^{commit}`], { live });
    return ok && stdout !== "" ? stdout : null;
  }

  /** One compare-and-swap of a file; null when the ref moved in between. */
  async function attempt<T>(key: string, write: Write<T>, subject: string): Promise<T | null> {
    const must = async (args: readonly string[], input?: string): Promise<string> => {
      const { ok, stdout, stderr } = await git(cwd, args, { env: AUTHOR, ...(input === undefined ? {} : { input }) });
      if (!ok) throw unwritable(name, stderr.split("\n")[0] ?? "git failed");
      return stdout;
    };
    /** The tree with one file replaced, made without an index, which a killed process would leave. */
    const treeWith = async (tree: string | null, [name = "", ...rest]: string[], blob: string): Promise<string> => {
      const listed = tree === null ? "" : await must(["ls-tree", "-z", "--full-tree", tree]);
      const entries = listed.split("\0").filter((entry) => entry !== "");
      const nameOf = (entry: string): string => entry.slice(entry.indexOf("\t") + 1);
      const [, type, id = null] = entries.find((entry) => nameOf(entry) === name)?.split(/[ \t]/) ?? [];
      const made =
        rest.length === 0
          ? `100644 blob ${blob}`
          : `040000 tree ${await treeWith(type === "tree" ? id : null, rest, blob)}`;
      const others = entries.filter((entry) => nameOf(entry) !== name);
      return must(["mktree", "-z"], [...others, `${made}\t${name}`].map((entry) => `${entry}\0`).join(""));
    };
    const tip = await tipOf(true);
    const known = tip === null ? null : await git(cwd, ["cat-file", "blob", `${tip}:${key}`]);
    const { text, value } = write(known?.ok === true ? known.stdout : null);
    const blob = await must(["hash-object", "-w", "--stdin"], text);
    const tree = await treeWith(tip, key.split("/"), blob);
    const parents = tip === null ? [] : ["-p", tip];
    const depth = tip === null ? 0 : depthOf(await must(["log", "-1", "--format=%B", tip]));
    const message = withDepth(subject, depth + 1);
    const commit = await must(["commit-tree", tree, ...parents], message);
    const swapped = await git(cwd, ["update-ref", ref, commit, tip ?? ""], { live: true });
    return swapped.ok ? value : null;
  }

  /** @throws GateError BASELINE_STORE_UNWRITABLE, BASELINE_STORE_BUSY */
  async function replace<T>(key: string, write: Write<T>, subject: string): Promise<T> {
    for (let round = 0; round < ATTEMPTS; round += 1) {
      const written = await attempt(key, write, subject);
      if (written !== null) return written;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(500, 20 * (round + 1))));
    }
    throw busy(name);
  }

  return {
    name,
    kind: "ref",

    async list(scenario?: string): Promise<StoreContent> {
      const tip = await tipOf(false);
      if (tip === null) return { exists: false, records: [], skipped: [] };
      await fetchMissing(cwd, tip);
      const listing = await git(cwd, ["ls-tree", "-r", "--name-only", "-z", "--full-tree", tip]);
      if (!listing.ok)
        throw invalidInput("BASELINE_STORE_UNREADABLE", `${name} cannot be read: ${listing.stderr}`, ref);
      const texts: { name: string; text: string | null }[] = [];
      const directory = scenario === undefined ? "" : `${scenarioDirectory(scenario)}/`;
      const names = listing.stdout.split("\0").filter((one) => isStoredName(one) && one.startsWith(directory));
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
      return replace(key, (current) => changedRecord(name, key, current, change), `Baseline of ${key}`);
    },

    async keepPeak(record: string, text: string): Promise<void> {
      await replace(peakName(record), () => ({ text, value: true }), `Composition of ${record}`);
    },
  };
}
