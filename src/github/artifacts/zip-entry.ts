import { crc32 } from "node:zlib";
import { type Entry, fromBufferPromise, type ZipFile } from "yauzl";
import { codeOf, invalidInput } from "../../core/errors.ts";

/** Limits for an untrusted archive. */
export interface EntryLimits {
  /** Maximum bytes of the one entry, unpacked. */
  readonly maxBytes: number;
  /** Maximum bytes that one packed byte may become; JSON of numbers stays below a tenth of this. */
  readonly maxRatio?: number;
}

const MAX_RATIO = 200;
/** Small entries may repeat themselves as they like: nothing is won by a bomb of this size. */
const RATIO_COUNTS_FROM_BYTES = 64 * 1024;
const STORED = 0;
const DEFLATED = 8;
/** File type bits of Unix modes, in the upper half of an entry's external attributes. */
const TYPE_MASK = 0o170000;
const REGULAR = 0o100000;
const MADE_BY_UNIX = 3;

/** True when bytes begin as a zip archive does (also an empty one). */
export function looksZipped(bytes: Uint8Array): boolean {
  const [p, k, a, b] = bytes;
  return p === 0x50 && k === 0x4b && ((a === 3 && b === 4) || (a === 5 && b === 6));
}

function refused(where: string, why: string) {
  return invalidInput("ARCHIVE_REFUSED", `${where} ${why}`, where);
}

/** Why an entry is not what an upload of one file makes; null when it is. */
export function objection(entry: Entry, name: string, limits: EntryLimits): string | null {
  if (entry.fileName !== name) return "holds a file of another name";
  if (entry.isEncrypted()) return "is encrypted";
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) return "is packed in an unknown way";
  const type = entry.versionMadeBy >> 8 === MADE_BY_UNIX ? (entry.externalFileAttributes >>> 16) & TYPE_MASK : 0;
  if (type !== 0 && type !== REGULAR) return "contains something other than a plain file";
  if (entry.uncompressedSize > limits.maxBytes) return `holds more than ${limits.maxBytes} bytes`;
  const packed = Math.max(1, entry.compressedSize);
  const ratio = entry.uncompressedSize / packed;
  if (entry.uncompressedSize > RATIO_COUNTS_FROM_BYTES && ratio > (limits.maxRatio ?? MAX_RATIO)) {
    return "is packed more tightly than data of its kind can be";
  }
  return null;
}

/** Content of an entry. Set `validateEntrySizes` and check its size first. @throws what the archive reader throws */
export async function unpack(archive: ZipFile, entry: Entry): Promise<Buffer> {
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
    archive = await fromBufferPromise(bytes, {
      lazyEntries: true,
      autoClose: false,
      strictFileNames: true,
      validateEntrySizes: true,
    });
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
