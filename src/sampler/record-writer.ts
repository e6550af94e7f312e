import { createHash, type Hash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { messageOf } from "../core/errors.ts";
import {
  HEADER_BYTES,
  RECORD_BYTES,
  RECORD_MAGIC,
  type RecordFileHeader,
  type RecordKind,
  RecordSource,
} from "./record-layout.ts";
import type { RecordsCheck } from "./sampler.ts";

/** A value of a record; null = unknown. */
type Value = number | null | undefined;

/** Writes a new record file in whole records. A failed write (disk full) leaves it as is, the reason in `error`. */
export class RecordWriter {
  readonly #fd: number;
  readonly #buffer = Buffer.alloc(1024 * RECORD_BYTES);
  #filled = 0;
  #flushedNs = 0;
  #error: string | null = null;
  #closed = false;
  readonly #written = createHash("sha256");
  #writtenBytes = 0;
  readonly #readBack = createHash("sha256");
  #readBytes = 0;

  /** Creates the file, which must not exist; throws the error of the file system. */
  constructor(file: string, start: RecordFileHeader) {
    const { O_RDWR, O_CREAT, O_EXCL } = constants;
    this.#fd = openSync(file, O_RDWR | O_CREAT | O_EXCL);
    const header = Buffer.alloc(HEADER_BYTES);
    header.write(RECORD_MAGIC, 0, "latin1");
    header.writeUInt32LE(HEADER_BYTES, 8);
    header.writeUInt32LE(RECORD_BYTES, 12);
    header.writeBigUInt64LE(start.monotonicStartNs, 16);
    header.writeBigInt64LE(start.epochNs, 24);
    header.writeBigUInt64LE(BigInt(start.hostPeriodNs), 32);
    header.writeBigUInt64LE(BigInt(start.devicePeriodNs), 40);
    header.writeInt32LE(start.rootPid, 48);
    header.writeUInt32LE(start.pageSize, 52);
    try {
      this.#writeAll(header);
    } catch (error) {
      closeSync(this.#fd);
      throw error;
    }
  }

  get error(): string | null {
    return this.#error;
  }

  /** Append one record; `values` are v0 to v3, unknown ones null. */
  add(
    timeNs: number,
    kind: RecordKind,
    id: number,
    values: readonly Value[],
    source: RecordSource = RecordSource.fallback,
  ): void {
    if (this.#closed || this.#error !== null) return;
    const at = this.#filled;
    const buffer = this.#buffer;
    writeU64(buffer, timeNs, at);
    let valid = 0;
    for (let i = 0; i < 4; i++) {
      const value = values[i] ?? null;
      if (value !== null) valid |= 1 << i;
      writeU64(buffer, value ?? 0, at + 16 + 8 * i);
    }
    buffer.writeUInt8(kind, at + 8);
    buffer.writeUInt8(valid, at + 9);
    buffer.writeUInt16LE(source, at + 10);
    buffer.writeInt32LE(id, at + 12);
    this.#filled += RECORD_BYTES;
    if (this.#filled === buffer.length) this.flush(timeNs);
  }

  /** Write what is buffered when the last flush is long enough ago; called once per tick. */
  flushIfDue(timeNs: number): void {
    // Maximum time until samples are on disk, so that a killed gate loses little.
    if (timeNs - this.#flushedNs >= 100_000_000) this.flush(timeNs);
  }

  flush(timeNs: number): void {
    this.#flushedNs = timeNs;
    if (this.#filled === 0 || this.#error !== null) return;
    try {
      this.#writeAll(this.#buffer.subarray(0, this.#filled));
    } catch (error) {
      this.#error = messageOf(error);
    }
    this.#filled = 0;
  }

  /** Ends writing. The descriptor stays open for {@link readBack}. */
  close(timeNs: number): void {
    if (this.#closed) return;
    this.flush(timeNs);
    this.#closed = true;
  }

  /** Fills the array with the next written bytes, through the same descriptor; returns their number, 0 at the end. */
  readBack(into: Uint8Array): number {
    const size = Math.min(into.length, this.#writtenBytes - this.#readBytes);
    const read = readSync(this.#fd, into, 0, size, this.#readBytes);
    this.#readBack.update(into.subarray(0, read));
    this.#readBytes += read;
    return read;
  }

  check(): RecordsCheck {
    const digest = (hash: Hash): string => hash.copy().digest("hex");
    return {
      intact: this.#readBytes === this.#writtenBytes && digest(this.#readBack) === digest(this.#written),
      written: this.#writtenBytes,
      file: fstatSync(this.#fd, { bigint: true }),
    };
  }

  release(): void {
    closeSync(this.#fd);
  }

  #writeAll(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const size = writeSync(this.#fd, bytes, at);
      this.#written.update(bytes.subarray(at, at + size));
      this.#writtenBytes += size;
      at += size;
    }
  }
}

/** A non-negative integer up to 2^53 as little-endian u64, without BigInt: this is on the path of every sample. */
function writeU64(buffer: Buffer, value: number, at: number): void {
  const high = Math.floor(value / 2 ** 32);
  buffer.writeUInt32LE(value - high * 2 ** 32, at);
  buffer.writeUInt32LE(high, at + 4);
}
