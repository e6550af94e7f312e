import { crc32 } from "node:zlib";
import { type Entry, fromBufferPromise, type ZipFile } from "yauzl";
import { isStoredName, MAX_STORED_BYTES } from "../../baseline/store.ts";
import { codeOf, invalidInput } from "../../core/errors.ts";

/** Limits for an untrusted archive. */
export interface EntryLimits {
  /** Maximum bytes of the one entry, unpacked. */
  readonly maxBytes: number;
  /** Maximum bytes that one packed byte may become; JSON of numbers stays below a tenth of this. */
  readonly maxRatio?: number;
}

/** Small entries may repeat themselves as they like: nothing is won by a bomb of this size. */
const RATIO_COUNTS_FROM_BYTES = 64 * 1024;
const OPENED = { lazyEntries: true, autoClose: false, strictFileNames: true, validateEntrySizes: true } as const;
const ZIP = {
  stored: 0,
  deflated: 8,
  /** File type bits of Unix modes, in the upper half of an entry's external attributes. */
  typeMask: 0o170000,
  regularFile: 0o100000,
  madeByUnix: 3,
} as const;

/** True when bytes begin as a zip archive does (also an empty one). */
export function looksZipped(bytes: Uint8Array): boolean {
  const [p, k, a, b] = bytes;
  return p === 0x50 && k === 0x4b && ((a === 3 && b === 4) || (a === 5 && b === 6));
}

function refused(where: string, why: string) {
  return invalidInput("ARCHIVE_REFUSED", `${where} ${why}`, where);
}

/** Why an entry is not what an upload of one file makes; null when it is. */
function objection(entry: Entry, name: string, limits: EntryLimits): string | null {
  if (entry.fileName !== name) return "holds a file of another name";
  if (entry.isEncrypted()) return "is encrypted";
  if (entry.compressionMethod !== ZIP.stored && entry.compressionMethod !== ZIP.deflated)
    return "is packed in an unknown way";
  const type = entry.versionMadeBy >> 8 === ZIP.madeByUnix ? (entry.externalFileAttributes >>> 16) & ZIP.typeMask : 0;
  if (type !== 0 && type !== ZIP.regularFile) return "contains something other than a plain file";
  if (entry.uncompressedSize > limits.maxBytes) return `holds more than ${limits.maxBytes} bytes`;
  const packed = Math.max(1, entry.compressedSize);
  const ratio = entry.uncompressedSize / packed;
  if (entry.uncompressedSize > RATIO_COUNTS_FROM_BYTES && ratio > (limits.maxRatio ?? 200)) {
    return "is packed more tightly than data of its kind can be";
  }
  return null;
}

/** Content of an entry. Set `validateEntrySizes` and check its size first. @throws what the archive reader throws */
async function unpack(archive: ZipFile, entry: Entry): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const stream = await archive.openReadStreamPromise(entry);
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/**
 * The one file in an untrusted archive, read in memory: nothing is written to disk, so that no name in it can
 * lead anywhere. Anything but exactly one plain file of the expected name is refused.
 * @throws GateError ARCHIVE_REFUSED (exit 5)
 */
export async function readOnlyEntry(
  bytes: Buffer,
  name: string,
  limits: EntryLimits,
  where = "the archive",
): Promise<Buffer> {
  let archive: ZipFile | undefined;
  try {
    archive = await fromBufferPromise(bytes, OPENED);
    if (archive.entryCount !== 1) throw refused(where, `holds ${archive.entryCount} files instead of one`);
    for await (const entry of archive.eachEntry()) {
      const wrong = objection(entry, name, limits);
      if (wrong !== null) throw refused(where, wrong);
      const content = await unpack(archive, entry);
      if (crc32(content) !== entry.crc32) throw refused(where, "is damaged: its checksum does not match");
      return content;
    }
    throw refused(where, "holds no file");
  } catch (error) {
    if (codeOf(error) === "ARCHIVE_REFUSED") throw error;
    throw invalidInput("ARCHIVE_REFUSED", `${where} is not a readable archive`, where);
  } finally {
    archive?.close();
  }
}

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
    archive = await fromBufferPromise(bytes, OPENED);
    // Files an archive of baselines may hold, and what its records may be together, bytes.
    if (archive.entryCount > 2000) throw new Error(`holds ${archive.entryCount} files`);
    for await (const entry of archive.eachEntry()) {
      const name = recordNameOf(entry.fileName);
      if (name === null || records.has(name)) continue;
      if (objection(entry, entry.fileName, { maxBytes: MAX_STORED_BYTES }) !== null) {
        records.set(name, null);
        continue;
      }
      const content = await unpack(archive, entry);
      total += content.byteLength;
      if (total > 32 * 1024 * 1024) throw new Error("holds too much");
      records.set(name, crc32(content) === entry.crc32 ? content.toString("utf8") : null);
    }
  } catch {
    throw invalidInput("ARCHIVE_REFUSED", `${where} is not a readable archive of baselines`, where);
  } finally {
    archive?.close();
  }
  return [...records].map(([name, text]) => ({ name, text }));
}
