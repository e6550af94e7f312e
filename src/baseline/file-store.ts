import { randomBytes } from "node:crypto";
import { open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { invalidInput } from "../core/errors.ts";
import { writeAtomically } from "../core/files.ts";
import { makeDirectories } from "../core/make-directories.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import type { BaselineRecord } from "./record.ts";
import { pruneRecord, serializeRecord } from "./record-size.ts";
import {
  type BaselineStore,
  busy,
  contentOf,
  parseStored,
  recordName,
  type StoreContent,
  type StoredRecord,
  unwritable,
} from "./store.ts";

/** A lock older than this belongs to a writer that died: an update takes milliseconds. */
const STALE_LOCK_MS = 10_000;
const LOCK_TIMEOUT_MS = 30_000;

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

async function acquire(lock: string, store: string): Promise<void> {
  const deadline = Date.now() + LOCK_TIMEOUT_MS;
  for (;;) {
    try {
      await (await open(lock, "wx")).close();
      return;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw unwritable(store, (error as Error).message);
    }
    const age = await stat(lock).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (age > STALE_LOCK_MS) {
      // Removed by renaming: of several writers that find it stale one succeeds, and the others find it gone.
      const taken = `${lock}.${randomBytes(6).toString("hex")}`;
      await rename(lock, taken).then(
        () => rm(taken, { force: true }),
        () => {},
      );
      continue;
    }
    if (Date.now() > deadline) throw busy(store);
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20));
  }
}

/** `file:DIR`: one JSON file per record, reviewed in pull requests. `directory` is absolute. */
export function openFileStore(name: string, directory: string): BaselineStore {
  return {
    name,
    kind: "file",

    async list(): Promise<StoreContent> {
      let names: string[];
      try {
        names = await readdir(directory, { recursive: true });
      } catch (error) {
        if (codeOf(error) === "ENOENT") return { exists: false, records: [], skipped: [] };
        throw invalidInput(
          "BASELINE_STORE_UNREADABLE",
          `${name} cannot be read: ${(error as Error).message}`,
          directory,
        );
      }
      const texts = names
        .filter((one) => one.endsWith(".json"))
        .sort()
        .map(async (file) => ({
          name: file.split(path.sep).join("/"),
          text: await readFile(path.join(directory, file), "utf8").catch(() => null),
        }));
      return contentOf(await Promise.all(texts));
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
        throw unwritable(name, (error as Error).message);
      }
      const lock = `${file}.lock`;
      await acquire(lock, name);
      try {
        const text = await readFile(file, "utf8").catch((error: unknown) => {
          // Only a missing record may be created. An unreadable one contains runs that must not be lost.
          if (codeOf(error) === "ENOENT") return null;
          throw error;
        });
        const current = text === null ? null : parseStored(key, text);
        // An unreadable record is not overwritten, because a newer version may have written it.
        if (current !== null && "skipped" in current) throw unwritable(name, current.skipped);
        const record = pruneRecord(change(current?.record ?? null));
        await writeAtomically(file, serializeRecord(record));
        return { name: key, record };
      } catch (error) {
        throw /^E[A-Z]+$/.test(codeOf(error) ?? "") ? unwritable(name, (error as Error).message) : error;
      } finally {
        await rm(lock, { force: true });
      }
    },
  };
}
