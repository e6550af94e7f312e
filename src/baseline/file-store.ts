import path from "node:path";
import { codeOf, invalidInput, messageOf } from "../core/errors.ts";
import { makeDirectories, readBounded, TOO_LARGE, writeAtomically } from "../core/files.ts";
import { treeBelow } from "../core/tree.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import type { BaselineRecord } from "./record.ts";
import type { RecordClaim } from "./record-claim.ts";
import {
  type BaselineStore,
  busy,
  changedRecord,
  contentOf,
  MAX_STORED_BYTES,
  peakName,
  recordName,
  type StoreContent,
  type StoredRecord,
  tooLarge,
  unwritable,
} from "./store.ts";

/** How often a writer that was taken for dead begins again: each time it was stopped for longer than ten seconds. */
const MAX_ATTEMPTS = 5;

/** The text of a record; null when it cannot be read. The change may have put anything in its place. */
function listed(file: string): string | null {
  try {
    return readBounded(file, MAX_STORED_BYTES).toString("utf8");
  } catch {
    return null;
  }
}

/** The text of a record that is updated. Only a missing one may be created: others contain runs. */
function textOf(file: string, key: string, store: string): string | null {
  try {
    return readBounded(file, MAX_STORED_BYTES).toString("utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw unwritable(store, codeOf(error) === TOO_LARGE ? tooLarge(key) : messageOf(error));
  }
}

/**
 * `file:DIR`: one JSON file per record, reviewed in pull requests. `directory` is absolute.
 * @param staleMs when a claim of another machine's writer counts as left behind; absent = the claims' own limit
 */
export function openFileStore(name: string, directory: string, staleMs?: number): BaselineStore {
  return {
    name,
    kind: "file",

    async list(): Promise<StoreContent> {
      const { entries, unread } = treeBelow(directory);
      const [failed] = unread;
      if (failed?.path === "" && codeOf(failed.cause) === "ENOENT") return { exists: false, records: [], skipped: [] };
      if (failed !== undefined) {
        const reason = messageOf(failed.cause);
        throw invalidInput("BASELINE_STORE_UNREADABLE", `${name} cannot be read: ${reason}`, directory);
      }
      const names = entries.map((entry) => entry.path).filter((one) => one.endsWith(".json"));
      return contentOf(names.sort().map((file) => ({ name: file, text: listed(path.join(directory, file)) })));
    },

    async keepPeak(record: string, text: string): Promise<void> {
      try {
        await writeAtomically(path.join(directory, peakName(record)), text);
      } catch (error) {
        throw unwritable(name, messageOf(error));
      }
    },

    async update(
      scenario: string,
      fingerprint: Fingerprint,
      change: (current: BaselineRecord | null) => BaselineRecord,
    ): Promise<StoredRecord> {
      const key = recordName(scenario, fingerprint);
      const file = path.join(directory, key);
      try {
        makeDirectories(path.dirname(file));
      } catch (error) {
        throw unwritable(name, messageOf(error));
      }
      // Loaded on use: a gate that only reads baselines needs none of it.
      const { ClaimLostError, NoTurnError, RecordClaim } = await import("./record-claim.ts");
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await replace(name, key, await RecordClaim.of(file, staleMs), change);
        } catch (error) {
          if (error instanceof NoTurnError) throw busy(name);
          if (error instanceof ClaimLostError) {
            if (attempt === MAX_ATTEMPTS) throw busy(name);
            continue;
          }
          throw /^E[A-Z]+$/.test(codeOf(error) ?? "") ? unwritable(name, messageOf(error)) : error;
        }
      }
    },
  };
}

async function replace(
  store: string,
  key: string,
  claim: RecordClaim,
  change: (current: BaselineRecord | null) => BaselineRecord,
): Promise<StoredRecord> {
  try {
    const { text, value } = changedRecord(store, key, textOf(claim.file, key, store), change);
    await claim.commit(text);
    return value;
  } finally {
    await claim.drop();
  }
}
