import { invalidInput } from "../../core/errors.ts";
import type { Budget } from "./budget.ts";

/** Small enough to stay in a processor's second-level cache. */
const WINDOW_BYTES = 512 << 10;
/** The first reads are small, so that a window's end occurs before the machine is compiled, not as a deoptimisation. */
const FIRST_READ = 4 << 10;
/** More than any opcode takes with its argument, except for strings with a length of 4 or 8 bytes. */
const MARGIN = 520;
/** Maximum length of a string. Strings of snapshots are much shorter, so a longer one is damage or an attack. */
const MAX_TEXT = 16 * 2 ** 20;

/** The loaded part of the file. Opcodes that start before `safe` are complete, or the file ends and zeros follow. */
export class Window {
  bytes: Uint8Array<ArrayBuffer>;
  /** The same bytes, to read numbers of several bytes at once. */
  view: DataView;
  /** First byte that may not start an opcode before {@link refill}. */
  safe = 0;
  #end = 0;
  #ended = false;
  #reading = FIRST_READ;
  /** Bytes of the file before the start of `bytes`. */
  #before = 0;
  readonly #source: ByteSource;
  readonly #budget: Budget;
  readonly where: string;

  constructor(source: ByteSource, budget: Budget, where: string) {
    this.#source = source;
    this.#budget = budget;
    this.where = where;
    this.bytes = new Uint8Array(Math.min(WINDOW_BYTES, source.size + MARGIN) + 2 * MARGIN);
    this.view = new DataView(this.bytes.buffer);
    budget.charge(this.bytes.length);
  }

  /** Offset in the file of a position in `bytes`. */
  offset(position: number): number {
    return this.#before + position;
  }

  /** Reads on, and returns the new position. @throws GateError SNAPSHOT_TRUNCATED at the file's end */
  refill(position: number): number {
    if (this.#ended && position >= this.#end) throw this.#truncated();
    this.#load(position, MARGIN);
    return 0;
  }

  /**
   * Loads `length` bytes at `position`. Returns the new position.
   * @throws GateError SNAPSHOT_TRUNCATED, SNAPSHOT_MALFORMED for an implausible length
   */
  need(position: number, length: number): number {
    if (position + length <= this.#end) return position;
    const left = this.#source.size - this.offset(position);
    if (length > left) throw this.#truncated(length);
    if (length > MAX_TEXT) {
      throw invalidInput(
        "SNAPSHOT_MALFORMED",
        `a string of ${length} bytes at byte ${this.offset(position)}`,
        this.where,
      );
    }
    this.#load(position, length + MARGIN);
    if (length > this.#end) throw this.#truncated(length);
    return 0;
  }

  #load(position: number, atLeast: number): void {
    const kept = Math.max(0, this.#end - position);
    this.#before += position;
    if (atLeast + MARGIN > this.bytes.length) {
      this.#budget.charge(atLeast + MARGIN);
      const larger = new Uint8Array(atLeast + MARGIN);
      larger.set(this.bytes.subarray(position, this.#end));
      this.bytes = larger;
      this.view = new DataView(larger.buffer);
    } else {
      this.bytes.copyWithin(0, position, this.#end);
    }
    this.#end = kept;
    const room = Math.min(this.bytes.length - MARGIN, atLeast + MARGIN + this.#reading);
    this.#reading = Math.min(WINDOW_BYTES, 4 * this.#reading);
    while (!this.#ended && this.#end < room) {
      const count = this.#source.read(this.bytes.subarray(this.#end, room));
      if (count === 0) this.#ended = true;
      this.#end += count;
    }
    if (this.#ended) {
      // Zeros follow the end, and 0 is not an opcode.
      this.bytes.fill(0, this.#end);
      this.safe = this.#end;
    } else {
      this.safe = this.#end - MARGIN;
    }
  }

  /** @throws GateError SNAPSHOT_TRUNCATED when `position` is beyond the end: the last opcode was truncated */
  check(position: number): void {
    if (position > this.#end) throw this.#truncated();
  }

  #truncated(length?: number): Error {
    const what = length === undefined ? "" : ` in a string of ${length} bytes`;
    return invalidInput(
      "SNAPSHOT_TRUNCATED",
      `the pickle ends early${what}, after ${this.#source.size} bytes`,
      this.where,
      "The file is truncated: copy it again, or let the program that writes it finish.",
    );
  }
}

/** Bytes read in order, in chunks, so that a file is never in memory as a whole. */
export interface ByteSource {
  /** Length in bytes, known before reading. The memory budget depends on it. */
  readonly size: number;
  /** Fills `target` from its start with the available bytes and returns their number; 0 = the end. */
  readonly read: (target: Uint8Array) => number;
}

/** A source over bytes in memory. */
export function sourceOf(bytes: Uint8Array): ByteSource {
  let offset = 0;
  return {
    size: bytes.length,
    read: (target) => {
      const part = bytes.subarray(offset, offset + target.length);
      target.set(part);
      offset += part.length;
      return part.length;
    },
  };
}
