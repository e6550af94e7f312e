/**
 * SQLite's write-ahead log, applied to its database. A killed run leaves its newest rows (all rows of a short run) only
 * there. Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
 */

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The last bit is the byte order of the checksums. */
const MAGIC = 0x377f0682;

export interface LoggedDatabase {
  readonly bytes: Uint8Array;
  /** Truncated or damaged frames of this log, whose rows are lost. */
  readonly damaged: boolean;
}

/** Running checksum over pairs of 32-bit words. */
function checksum(view: DataView, from: number, to: number, little: boolean, state: readonly [number, number]) {
  let [a, b] = state;
  for (let at = from; at < to; at += 8) {
    a = (a + view.getUint32(at, little) + b) >>> 0;
    b = (b + view.getUint32(at + 4, little) + a) >>> 0;
  }
  return [a, b] as const;
}

/** Newest committed frame of every page in the log, and the database's size in pages after the last commit. */
function committedPages(log: DataView, pageBytes: number, little: boolean) {
  const pages = new Map<number, number>();
  const open = new Map<number, number>();
  let count = 0;
  let damaged = false;
  let state = checksum(log, 0, 24, little, [0, 0]);
  for (let at = HEADER_BYTES; at < log.byteLength; at += FRAME_HEADER_BYTES + pageBytes) {
    if (at + FRAME_HEADER_BYTES + pageBytes > log.byteLength) {
      damaged = true;
      break;
    }
    // Frames of an earlier use of the same file have other salts: the log ends before them.
    if (log.getUint32(at + 8) !== log.getUint32(16) || log.getUint32(at + 12) !== log.getUint32(20)) break;
    const body = at + FRAME_HEADER_BYTES;
    state = checksum(log, body, body + pageBytes, little, checksum(log, at, at + 8, little, state));
    if (state[0] !== log.getUint32(at + 16) || state[1] !== log.getUint32(at + 20)) {
      damaged = true;
      break;
    }
    open.set(log.getUint32(at), body);
    const size = log.getUint32(at + 4);
    if (size === 0) continue;
    for (const [page, place] of open) pages.set(page, place);
    open.clear();
    count = size;
  }
  return { pages, count, damaged };
}

/**
 * The database with every committed page of its write-ahead log.
 * @returns null when the log is invalid, belongs to another page size or has no commit
 */
export function applyLog(database: Uint8Array, logBytes: Uint8Array): LoggedDatabase | null {
  if (logBytes.length < HEADER_BYTES) return null;
  const log = new DataView(logBytes.buffer, logBytes.byteOffset, logBytes.byteLength);
  const magic = log.getUint32(0);
  const pageBytes = log.getUint32(8);
  if ((magic & ~1) !== MAGIC || pageBytes < 512 || pageBytes > 65536 || (pageBytes & (pageBytes - 1)) !== 0)
    return null;
  const { pages, count, damaged } = committedPages(log, pageBytes, (magic & 1) === 0);
  if (count === 0) return damaged ? { bytes: database, damaged } : null;
  const bytes = new Uint8Array(count * pageBytes);
  bytes.set(database.subarray(0, bytes.length));
  for (const [page, place] of pages) {
    if (page >= 1 && page <= count) bytes.set(logBytes.subarray(place, place + pageBytes), (page - 1) * pageBytes);
  }
  return { bytes, damaged };
}
