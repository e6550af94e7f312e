import { readHead } from "../../core/files.ts";
import { HEADER_BYTES, RECORD_BYTES } from "../../sampler/record-layout.ts";

/** What is added to a record file's name for the file of the newest records of a long run. */
export const RECENT_ENDING = ".recent";
/** As `native/records/recent_records.h` has them. */
export const RECENT_MAGIC = "SLGRCN\u0001\n";
export const RECENT_CAPACITY = 16_384;

/** Held records, in order, and the number of the first of them since the run began. */
interface HeldRecords {
  readonly first: number;
  readonly bytes: Buffer;
}

const NONE: HeldRecords = { first: 0, bytes: Buffer.alloc(0) };

/**
 * The records that a killed gate held back from its record file, in order; none when the file is absent or damaged.
 * @param file the file of the newest records: a header with magic, number of the next record, number of the first one
 *   that was held, and capacity; then a slot for each, record n in slot n modulo the capacity
 */
export function recentRecords(file: string): HeldRecords {
  let bytes: Buffer;
  try {
    bytes = readHead(file, HEADER_BYTES + RECENT_CAPACITY * RECORD_BYTES, "refuse");
  } catch {
    return NONE;
  }
  if (bytes.length < HEADER_BYTES || bytes.toString("latin1", 0, 8) !== RECENT_MAGIC) return NONE;
  const [next, first, capacity] = [8, 16, 24].map((at) => bytes.readBigUInt64LE(at));
  if (capacity !== BigInt(RECENT_CAPACITY) || next! < first! || next! - first! > capacity) return NONE;
  const from = Number(first! % capacity);
  const count = Number(next! - first!);
  const slots = (begin: number, end: number): Buffer =>
    bytes.subarray(HEADER_BYTES + begin * RECORD_BYTES, HEADER_BYTES + end * RECORD_BYTES);
  const [before, after] = [
    slots(from, Math.min(from + count, RECENT_CAPACITY)),
    slots(0, from + count - RECENT_CAPACITY),
  ];
  const both = from + count > RECENT_CAPACITY ? Buffer.concat([before, after]) : before;
  return { first: Number(first), bytes: both.subarray(0, both.length - (both.length % RECORD_BYTES)) };
}
