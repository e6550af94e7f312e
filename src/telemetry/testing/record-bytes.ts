import {
  HEADER_BYTES,
  RECORD_BYTES,
  RECORD_MAGIC,
  type RecordKind,
  type RecordSource,
} from "../../sampler/record-layout.ts";

/** One record to encode; a null value is unknown (its valid bit is clear). */
export interface RecordInput {
  readonly timeNs: number;
  readonly kind: RecordKind | number;
  readonly source?: RecordSource;
  readonly id?: number;
  readonly values?: readonly (number | bigint | null)[];
  /** Reason of an allocator record. */
  readonly reason?: number;
}

export const EPOCH_NS = 1_700_000_000_123_456_789n;

/** A record file as the sampler writes it, for tests. */
export function recordBytes(records: readonly RecordInput[]): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES + records.length * RECORD_BYTES);
  bytes.write(RECORD_MAGIC, 0, "latin1");
  bytes.writeUInt32LE(HEADER_BYTES, 8);
  bytes.writeUInt32LE(RECORD_BYTES, 12);
  bytes.writeBigUInt64LE(987_654_321n, 16);
  bytes.writeBigInt64LE(EPOCH_NS, 24);
  bytes.writeBigUInt64LE(5_000_000n, 32);
  bytes.writeBigUInt64LE(20_000_000n, 40);
  bytes.writeInt32LE(4242, 48);
  bytes.writeUInt32LE(4096, 52);
  for (const [i, { timeNs, kind, source = 0, id = -1, values = [], reason = 0 }] of records.entries()) {
    const at = HEADER_BYTES + i * RECORD_BYTES;
    bytes.writeBigUInt64LE(BigInt(timeNs), at);
    bytes.writeUInt8(kind, at + 8);
    bytes.writeUInt8(reason << 4, at + 9);
    bytes.writeUInt16LE(source, at + 10);
    bytes.writeInt32LE(id, at + 12);
    for (const [v, value] of values.entries()) {
      if (value === null) continue;
      bytes.writeUInt8(bytes.readUInt8(at + 9) | (1 << v), at + 9);
      bytes.writeBigUInt64LE(BigInt(value), at + 16 + 8 * v);
    }
  }
  return bytes;
}
