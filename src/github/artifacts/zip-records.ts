import { crc32 } from "node:zlib";
import { fromBufferPromise, type ZipFile } from "yauzl";
import { isStoredName, MAX_STORED_BYTES } from "../../baseline/store.ts";
import { invalidInput } from "../../core/errors.ts";
import { objection, unpack } from "./zip-entry.ts";

/** Files an archive of baselines may hold, and what its records may be together, bytes. */
const MAX_ENTRIES = 2000;
const MAX_TOTAL_BYTES = 32 * 1024 * 1024;

export interface NamedText {
  readonly name: string;
  readonly text: string | null;
}

/** The last two parts of a path: archives hold the directory itself or what is in it. */
function recordNameOf(path: string): string | null {
  const name = path.split("/").slice(-2).join("/");
  return isStoredName(name) ? name : null;
}

/** Baseline records in an archive, in memory; a damaged one has text null. @throws GateError ARCHIVE_REFUSED */
export async function readRecords(bytes: Buffer, where: string): Promise<readonly NamedText[]> {
  let archive: ZipFile | undefined;
  const records = new Map<string, string | null>();
  let total = 0;
  try {
    archive = await fromBufferPromise(bytes, { lazyEntries: true, autoClose: false, strictFileNames: true });
    if (archive.entryCount > MAX_ENTRIES) throw new Error(`holds ${archive.entryCount} files`);
    for await (const entry of archive.eachEntry()) {
      const name = recordNameOf(entry.fileName);
      if (name === null || records.has(name)) continue;
      if (objection(entry, entry.fileName, { maxBytes: MAX_STORED_BYTES }) !== null) {
        records.set(name, null);
        continue;
      }
      const content = await unpack(archive, entry);
      total += content.byteLength;
      if (total > MAX_TOTAL_BYTES) throw new Error("holds too much");
      records.set(name, crc32(content) === entry.crc32 ? content.toString("utf8") : null);
    }
  } catch {
    throw invalidInput("ARCHIVE_REFUSED", `${where} is not a readable archive of baselines`, where);
  } finally {
    archive?.close();
  }
  return [...records].map(([name, text]) => ({ name, text }));
}
