import { createHash } from "node:crypto";
import path from "node:path";
import { serializeRecord } from "../../baseline/record-size.ts";
import { type BaselineStore, contentOf, type StoreContent, unwritable } from "../../baseline/store.ts";
import type { ConfigChange } from "../../config/policy-changes.ts";
import { messageOf } from "../../core/errors.ts";
import { plural } from "../../core/text.ts";
import { fetchCommit, fetchMissing } from "../../git/fetch.ts";
import { git } from "../../git/git.ts";
import type { RepositoryView } from "../../git/repository-view.ts";
import type { GatePorts, RecordText } from "../ports/ports.ts";

/** A `file:` store on a pull request: its content at the base commit, and what the change does to its records. */
interface BaseStore {
  readonly store: BaselineStore;
  readonly changes: readonly ConfigChange[];
}

export interface BaseRecords {
  /** By the directory of a store; one that is not part of the repository is missing. */
  readonly stores: ReadonlyMap<string, BaseStore>;
  /** Why the records of a store at the base commit cannot be read. */
  readonly warnings: readonly string[];
}

/** The blobs below a directory of a commit, by their path in it; follows a committed link that takes its place. */
async function blobsAt(top: string, commit: string, directory: string): Promise<ReadonlyMap<string, string>> {
  let at = directory;
  for (let link = 0; link < 8; link += 1) {
    const found = await git(top, ["--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", commit, "--", at]);
    if (!found.ok) throw new Error(found.stderr.split("\n")[0] || "git ls-tree failed");
    const entries = found.stdout.split("\0").flatMap((entry) => {
      const [, mode, id, file] = /^(\d+) blob ([0-9a-f]+)\t(.*)$/s.exec(entry) ?? [];
      return mode === undefined || id === undefined || file === undefined ? [] : [{ mode, id, file }];
    });
    const itself = entries.find(({ mode, file }) => mode === "120000" && file === at);
    if (itself === undefined) {
      const inside = entries.filter(({ mode, file }) => mode.startsWith("100") && file.startsWith(`${at}/`));
      return new Map(inside.map(({ id, file }) => [file.slice(at.length + 1), id]));
    }
    const target = await git(top, ["cat-file", "blob", itself.id]);
    at = path.posix.normalize(path.posix.join(path.posix.dirname(at), target.stdout)).replace(/\/$/, "");
  }
  return new Map();
}

async function textsAt(top: string, commit: string, directory: string): Promise<readonly RecordText[]> {
  await fetchMissing(top, commit, directory);
  const records = [...(await blobsAt(top, commit, directory))].filter(([name]) => name.endsWith(".json")).sort();
  return Promise.all(
    records.map(async ([name, id]) => {
      const blob = await git(top, ["cat-file", "blob", id]);
      return { name, text: blob.ok ? blob.stdout : null };
    }),
  );
}

/** The content of a store that is read from a commit, which nothing can write. */
function committedStore(name: string, commit: string, texts: readonly RecordText[]): BaselineStore {
  const content: StoreContent = texts.length === 0 ? { exists: false, records: [], skipped: [] } : contentOf(texts);
  return {
    name,
    kind: "file",
    list: async () => content,
    update: async () => {
      throw unwritable(name, `its records are those of commit ${commit.slice(0, 12)}`);
    },
  };
}

/** Each usable record by its name: how many runs it has, and a digest of everything that is compared with. */
function described({ records }: StoreContent): ReadonlyMap<string, string> {
  return new Map(
    records.map(({ name, record }) => {
      const digest = createHash("sha256").update(serializeRecord(record)).digest("hex").slice(0, 16);
      return [name, `${plural(record.epochs.at(-1)?.runs.length ?? 0, "run")}, sha256 ${digest}`];
    }),
  );
}

function recordChanges(directory: string, base: StoreContent, head: StoreContent): readonly ConfigChange[] {
  const [before, now] = [described(base), described(head)];
  return [...new Set([...before.keys(), ...now.keys()])].sort().flatMap((name) => {
    const [was, is] = [before.get(name) ?? null, now.get(name) ?? null];
    return was === is ? [] : [{ path: `${directory}/${name}`, base: was, head: is }];
  });
}

async function textsOfBase(
  repository: RepositoryView,
  commit: string,
  directory: string,
  { recordsAt }: Pick<GatePorts, "recordsAt">,
): Promise<readonly RecordText[]> {
  const { top, isShallow } = repository.checkout;
  if (await repository.has(commit)) return textsAt(top, commit, directory);
  if (recordsAt !== undefined) return recordsAt(commit, directory);
  await fetchCommit(top, commit, isShallow);
  if (await repository.has(commit)) return textsAt(top, commit, directory);
  throw new Error(`commit ${commit.slice(0, 12)} is not in this clone`);
}

/**
 * The `file:` stores of a pull request as they are at the commit that it branched off. What the change does to their
 * records is listed, as its settings are. A directory that neither commit has is not part of the change.
 * @param open opens the store of the work tree
 */
export async function baseRecords(
  specs: readonly string[],
  repository: RepositoryView,
  commit: string,
  ports: Pick<GatePorts, "recordsAt">,
  open: (spec: string) => BaselineStore,
): Promise<BaseRecords> {
  const { cwd: root, checkout } = repository;
  const stores = new Map<string, BaseStore>();
  const warnings: string[] = [];
  for (const spec of new Set(specs)) {
    const [, given] = /^file:(.+)$/s.exec(spec) ?? [];
    if (given === undefined || checkout.problem !== null) continue;
    const shown = path.relative(root, path.resolve(root, given));
    const inside = path.posix.normalize(`${checkout.prefix}${shown}`);
    if (inside.startsWith("..") || path.isAbsolute(shown) || shown === "") continue;
    try {
      const base = committedStore(spec, commit, await textsOfBase(repository, commit, inside, ports));
      const content = await base.list();
      if (!content.exists && (await blobsAt(checkout.top, "HEAD", inside)).size === 0) continue;
      const changes = recordChanges(shown, content, await open(spec).list());
      stores.set(path.resolve(root, given), { store: base, changes });
    } catch (error) {
      const why = messageOf(error).replace(/\.$/, "");
      warnings.push(
        `the records of ${spec} at the base commit cannot be read (${why}), so the records of this change are used; check out with fetch-depth: 0`,
      );
    }
  }
  return { stores, warnings };
}
