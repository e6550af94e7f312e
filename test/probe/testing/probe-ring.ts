import { closeSync, readSync } from "node:fs";
import { codeOf } from "../../../src/core/errors.ts";
import { NOT_A_FILE, openRegular } from "../../../src/core/files.ts";

/**
 * The ring file of a probe, version 1, with the layout of `native/probe_ring.h`: a header of 256 bytes, then records of
 * 96 bytes, little-endian. Its writer is the measured process, so nothing in it is trusted, and only `read` touches it.
 */
const PROBE_MAGIC = "SLGPRB\u0001\n";
const PROBE_HEADER_BYTES = 256;
const PROBE_RECORD_BYTES = 96;
const LARGEST_CAPACITY = 65_536;
const BATCH_RECORDS = 256;
/** A file that has no header after this long will not get one. */
const SETTLE_NS = 5e9;
/** The head may become visible shortly before its record. After this many readings the record counts as lost. */
const LOOKS = 3;
/**
 * A header that contradicts what was read before may be half written, by a process that is not running right now. After
 * this many drains (a second) it is another file.
 */
const DOUBTS = 25;
const STATE_ENDED = 2;

/** The fields of the header that a reader needs. */
export interface RingHeader {
  readonly capacity: number;
  readonly head: number;
  readonly flags: number;
  readonly ended: boolean;
  readonly rank: number;
  readonly worldSize: number;
  readonly role: number;
  /** Current step; null when none was seen. */
  readonly step: number | null;
}

/** One record; unknown values are null. */
export interface RingRecord {
  /** CLOCK_MONOTONIC, nanoseconds: beyond 2^53 on a machine that is up for months. */
  readonly monotonicNs: bigint;
  readonly deviceKind: number;
  readonly deviceIndex: number;
  readonly reason: number;
  /** allocated, reserved, active, allocated peak, reserved peak, retries, out-of-memory errors, step. */
  readonly values: readonly (number | null)[];
}

export type RingAnswer = "idle" | "moved" | "ended" | "foreign" | "truncated";

const STEPS_SEEN = 8;

/** A u64 as a double; null from 2^53 on. */
function u64(bytes: Buffer, at: number): number | null {
  const high = bytes.readUInt32LE(at + 4);
  return high < 2 ** 21 ? high * 2 ** 32 + bytes.readUInt32LE(at) : null;
}

function parseHeader(bytes: Buffer): RingHeader | null {
  if (bytes.length < PROBE_HEADER_BYTES || bytes.toString("latin1", 0, 8) !== PROBE_MAGIC) return null;
  const capacity = bytes.readUInt32LE(16);
  const head = u64(bytes, 24);
  if (bytes.readUInt32LE(8) !== PROBE_HEADER_BYTES || bytes.readUInt32LE(12) !== PROBE_RECORD_BYTES) return null;
  if (capacity === 0 || capacity > LARGEST_CAPACITY || (capacity & (capacity - 1)) !== 0 || head === null) return null;
  const flags = bytes.readUInt32LE(40);
  return {
    capacity,
    head,
    flags,
    ended: bytes.readUInt32LE(44) === STATE_ENDED,
    rank: bytes.readInt32LE(48),
    worldSize: bytes.readInt32LE(56),
    role: bytes.readInt32LE(60),
    step: (flags & STEPS_SEEN) === 0 ? null : u64(bytes, 72),
  };
}

function parseRecord(bytes: Buffer, at: number, index: number): RingRecord | null {
  if (u64(bytes, at) !== index + 1 || u64(bytes, at + 88) !== index + 1) return null;
  const valid = bytes.readUInt16LE(at + 20);
  return {
    monotonicNs: bytes.readBigUInt64LE(at + 8),
    deviceKind: bytes.readUInt16LE(at + 16),
    deviceIndex: bytes.readUInt16LE(at + 18),
    reason: bytes.readUInt16LE(at + 22),
    values: Array.from({ length: 8 }, (_, k) => ((valid >> k) & 1 ? u64(bytes, at + 24 + 8 * k) : null)),
  };
}

const batch = Buffer.alloc(BATCH_RECORDS * PROBE_RECORD_BYTES);

/** One ring, read to where its writer is. */
export class ProbeRing {
  readonly #fd: number;
  readonly #openedNs: number;
  #header: RingHeader | null = null;
  #tail = 0;
  #lost = 0;
  #unfinished = 0;
  #doubts = 0;
  #movedNs: number;

  private constructor(fd: number, nowNs: number) {
    this.#fd = fd;
    this.#openedNs = nowNs;
    this.#movedNs = nowNs;
  }

  /** Throws the error of the file system, ELOOP for a link; null for any other kind of file. */
  static open(file: string, nowNs: number): ProbeRing | null {
    const fd = openOwn(file);
    return fd === null ? null : new ProbeRing(fd, nowNs);
  }

  get header(): RingHeader | null {
    return this.#header;
  }

  /** Records overwritten or inconclusive before they could be read. */
  get lost(): number {
    return this.#lost;
  }

  /** The last drain found a header that it could not believe. What follows is unread until a later one can. */
  get inDoubt(): boolean {
    return this.#doubts > 0;
  }

  /** Time of the last new record, on the caller's clock. */
  get movedNs(): number {
    return this.#movedNs;
  }

  /** Read what is new, at most `most` records. */
  drain(nowNs: number, most: number, take: (record: RingRecord) => void): RingAnswer {
    const header = this.#readHeader();
    if (typeof header === "string") {
      return header === "foreign" && this.#header === null && nowNs - this.#openedNs < SETTLE_NS ? "idle" : header;
    }
    this.#header = header;
    const from = this.#tail;
    if (header.head - this.#tail > header.capacity) {
      // A head that is too high would lead past records that are still to come: an unbelievable one is read twice.
      const again = this.#readHead();
      if (again === "truncated") return again;
      if (again === null || again < header.head) return this.#doubt();
      this.#lost += header.head - this.#tail - header.capacity;
      this.#tail = header.head - header.capacity;
    }
    const problem = this.#readRecords(header, this.#tail + most, take);
    if (problem !== null) return problem;
    this.#doubts = 0;
    if (this.#tail !== from) this.#movedNs = nowNs;
    if (this.#tail === header.head && header.ended) return "ended";
    return this.#tail === from ? "idle" : "moved";
  }

  close(): void {
    closeSync(this.#fd);
  }

  #readHeader(): RingHeader | "idle" | "foreign" | "truncated" {
    const bytes = batch.subarray(0, PROBE_HEADER_BYTES);
    const size = readAt(this.#fd, bytes, 0);
    if (this.#header !== null && size < PROBE_HEADER_BYTES) return "truncated";
    const header = parseHeader(bytes.subarray(0, size));
    if (this.#header === null) return header ?? "foreign";
    // A ring never changes its shape, and its head never falls.
    const same = header !== null && header.capacity === this.#header.capacity && header.head >= this.#tail;
    return same ? header : this.#doubt();
  }

  #readHead(): number | null | "truncated" {
    const counter = Buffer.alloc(8);
    return readAt(this.#fd, counter, 24) < 8 ? "truncated" : u64(counter, 0);
  }

  #doubt(): "idle" | "foreign" {
    return ++this.#doubts < DOUBTS ? "idle" : "foreign";
  }

  #readRecords(header: RingHeader, end: number, take: (record: RingRecord) => void): RingAnswer | null {
    const { head, capacity } = header;
    // The slot of the record after the head may be half written, unless its writer has ended.
    const readable = header.ended ? capacity : capacity - 1;
    while (this.#tail < Math.min(head, end)) {
      const slot = this.#tail % capacity;
      const count = Math.min(Math.min(head, end) - this.#tail, BATCH_RECORDS, capacity - slot);
      const bytes = batch.subarray(0, count * PROBE_RECORD_BYTES);
      if (readAt(this.#fd, bytes, PROBE_HEADER_BYTES + slot * PROBE_RECORD_BYTES) < bytes.length) return "truncated";
      // Only records that are still in the ring afterwards are valid.
      const after = this.#readHead();
      if (after === "truncated") return after;
      if (after === null || after < head) return this.#doubt();
      for (let i = 0; i < count; i++) {
        const there = after - this.#tail <= readable;
        const record = there ? parseRecord(bytes, i * PROBE_RECORD_BYTES, this.#tail) : null;
        if (there && record === null && ++this.#unfinished < LOOKS) return null;
        this.#unfinished = 0;
        this.#tail += 1;
        if (record === null) this.#lost += 1;
        else take(record);
      }
    }
    return null;
  }
}

/** Open for reading, never through a link, never waiting for a pipe; null for any other kind of file. */
function openOwn(file: string): number | null {
  try {
    return openRegular(file, "refuse").fd;
  } catch (error) {
    const code = codeOf(error);
    if (code === NOT_A_FILE || code === "EISDIR") return null;
    throw error;
  }
}

/** Bytes read; less than asked for at the end of the file or when it cannot be read. */
function readAt(fd: number, into: Buffer, position: number): number {
  let done = 0;
  try {
    while (done < into.length) {
      const size = readSync(fd, into, done, into.length - done, position + done);
      if (size === 0) break;
      done += size;
    }
  } catch {
    // A file that cannot be read counts as short.
  }
  return done;
}
