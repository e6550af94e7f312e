import { scenarioDirectory } from "../../baseline/identity.ts";
import {
  type BaselineStore,
  changedRecord,
  contentOf,
  isStoredName,
  MAX_STORED_BYTES,
  peakName,
  recordName,
  type StoreContent,
  type StoredRecord,
  tooLarge,
  unwritable,
} from "../../baseline/store.ts";
import { GateError } from "../../core/errors.ts";
import { askEach } from "../api/ask-each.ts";
import { DeadlineError, withDeadline } from "../api/deadline.ts";
import { degradedWarning, unreadableStore } from "../api/degrade.ts";
import type { GitData, RefSnapshot, TreeFile } from "./git-data-client.ts";

/** `ref:NAME` over GitHub's API: the same tree as the clone's ref of that name, without fetching or pushing it. */
export function openRefStore(gitData: GitData, name: string, ref: string): BaselineStore {
  /** Blobs never change, and several scenarios and both looks of a gate read the same ones. */
  const texts = new Map<string, string>();
  /** Who did not answer once is not waited for again, scenario by scenario. */
  let silent: GateError | null = null;
  const textOf = async ({ sha }: TreeFile): Promise<string> => {
    const text = texts.get(sha) ?? Buffer.from(await gitData.blob(sha)).toString("utf8");
    texts.set(sha, text);
    return text;
  };
  const write = async (file: string, message: string, textFor: (current: RefSnapshot | null) => Promise<string>) => {
    try {
      await withDeadline({ ms: 270_000 }, () =>
        gitData.commit(ref, message, async (current) => new Map([[file, Buffer.from(await textFor(current))]])),
      );
    } catch (error) {
      if (error instanceof GateError) throw error;
      const attempt = { what: `write ${file}`, permission: "contents: write", instead: "" };
      throw unwritable(name, degradedWarning(attempt, error).replace(/[.\s]+$/, ""));
    }
  };
  return {
    name,
    kind: "ref",
    async list(scenario) {
      if (silent !== null) throw silent;
      try {
        // Maximum wait for the baselines of a scenario, milliseconds.
        return await withDeadline({ ms: 30_000 }, async () => read(await gitData.snapshot(ref), scenario, textOf));
      } catch (error) {
        if (error instanceof GateError) throw error;
        const unreadable = unreadableStore(name, "contents: read", error);
        if (error instanceof DeadlineError) silent = unreadable;
        throw unreadable;
      }
    },
    async update(scenario, fingerprint, change) {
      const record = recordName(scenario, fingerprint);
      let written: StoredRecord | null = null;
      await write(record, `Baseline of ${record}`, async (current) => {
        const file = current?.files.find(({ path }) => path === record);
        const { text, value } = changedRecord(name, record, file === undefined ? null : await textOf(file), change);
        written = value;
        return text;
      });
      if (written === null) throw unwritable(name, "there was nothing to write");
      return written;
    },
    keepPeak: (record, text) => write(peakName(record), `Composition of ${record}`, async () => text),
  };
}

async function read(
  snapshot: RefSnapshot | null,
  scenario: string | undefined,
  textOf: (file: TreeFile) => Promise<string>,
): Promise<StoreContent> {
  if (snapshot === null) return { exists: false, records: [], skipped: [] };
  const directory = scenario === undefined ? "" : `${scenarioDirectory(scenario)}/`;
  const files = snapshot.files.filter(({ path }) => isStoredName(path) && path.startsWith(directory));
  const isLarge = ({ size }: TreeFile): boolean => (size ?? 0) > MAX_STORED_BYTES;
  const small = files.filter((file) => !isLarge(file));
  const content = contentOf(await askEach(small, async (file) => ({ name: file.path, text: await textOf(file) })));
  return { ...content, skipped: [...content.skipped, ...files.filter(isLarge).map(({ path }) => tooLarge(path))] };
}
