import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import path from "node:path";
import { AllocatorKind, HostHeapIndex, SampleReason } from "../../sampler/record-layout.ts";

// A ring file as the probes write it (native/probe_ring.h), written by the gate for a process that loads no probe, so
// that what was read of its heap is in the record file with everything else.

const HEADER_BYTES = 256;
const RECORD_BYTES = 96;
const CAPACITY = 1024;
const HEAD_AT = 24;
const MAGIC = "SLGPRB\x01\n";
const ATTACHED = 1;
const HEAP_READABLE = 1;
/** No probe counts its rings up to this number. */
const INSTANCE = 4_000_000_000;

/** Bytes; absent = not known. */
export interface HeapRow {
  /** What a full collection left. */
  readonly live?: number;
  /** What the heap takes of the host, garbage included. */
  readonly held?: number;
  /** What its objects take. */
  readonly used?: number;
}

export class HeapRing {
  readonly #handle: number;
  #head = 0n;

  /** @throws where the directory of the probes is gone */
  constructor(directory: string, pid: number, startTicks: number) {
    // A pid may be used again.
    this.#handle = openSync(path.join(directory, `${pid}.${INSTANCE + (startTicks % 1_000_000)}.probe`), "wx", 0o600);
    const header = Buffer.alloc(HEADER_BYTES);
    for (const [value, at] of [
      [HEADER_BYTES, 8],
      [RECORD_BYTES, 12],
      [CAPACITY, 16],
      [pid, 20],
      [HEAP_READABLE, 40],
      [ATTACHED, 44],
    ] as const)
      header.writeUInt32LE(value, at);
    for (const at of [48, 52, 56]) header.writeInt32LE(-1, at);
    header.writeBigUInt64LE(process.hrtime.bigint(), 32);
    ftruncateSync(this.#handle, HEADER_BYTES + CAPACITY * RECORD_BYTES);
    writeSync(this.#handle, header, 0, HEADER_BYTES, 0);
    // Last: from now on the sampler takes the file for a ring.
    writeSync(this.#handle, MAGIC, 0, "latin1");
  }

  put({ live, held, used }: HeapRow, reason: SampleReason = SampleReason.timer): void {
    const record = Buffer.alloc(RECORD_BYTES);
    const sequence = this.#head + 1n;
    const at = HEADER_BYTES + Number(this.#head % BigInt(CAPACITY)) * RECORD_BYTES;
    record.writeBigUInt64LE(sequence, 0);
    record.writeBigUInt64LE(process.hrtime.bigint(), 8);
    record.writeUInt16LE(AllocatorKind.hostHeap, 16);
    record.writeUInt16LE(HostHeapIndex.jvm, 18);
    let valid = 0;
    for (const [bit, bytes] of [live, held, used].entries()) {
      if (bytes === undefined) continue;
      valid |= 1 << bit;
      record.writeBigUInt64LE(BigInt(Math.round(bytes)), 24 + 8 * bit);
    }
    record.writeUInt16LE(valid, 20);
    record.writeUInt16LE(reason, 22);
    record.writeBigUInt64LE(sequence, RECORD_BYTES - 8);
    const head = Buffer.alloc(8);
    head.writeBigUInt64LE(sequence, 0);
    writeSync(this.#handle, record, 0, RECORD_BYTES, at);
    writeSync(this.#handle, head, 0, 8, HEAD_AT);
    this.#head = sequence;
  }

  close(): void {
    closeSync(this.#handle);
  }
}
