import { closeSync, constants, ftruncateSync, openSync, writeSync } from "node:fs";
import { messageOf } from "../../core/errors.ts";

/** A cut tail starts at a line's start when one begins this early, bytes. */
const LINE_SEARCH_BYTES = 4096;

/** Never through a link, and never waiting for the reader of a FIFO. */
const NEW_FILE =
  constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export interface OutputTotals {
  readonly bytes: number;
  readonly kept_bytes: number;
}

/**
 * A log of bounded size: head, a line with the omitted size, and tail. It never waits or throws: after a failed write
 * (disk full) `error` has the reason and the log does not change.
 */
export class OutputLog {
  readonly #fd: number;
  readonly #part: number;
  readonly #tail: Buffer;
  #headBytes = 0;
  #headKept = 0;
  /** Bytes that went past the head so far. */
  #pastHead = 0;
  #timer: NodeJS.Timeout | undefined;
  #error: string | null = null;
  #closed = false;
  #tailKept = 0;

  /**
   * Creates or empties the file; throws the error of the file system.
   * @param partBytes kept of the beginning and of the end of what a command prints, each
   */
  constructor(file: string, partBytes = 256 * 1024) {
    this.#fd = openSync(file, NEW_FILE, 0o666);
    this.#part = partBytes;
    this.#tail = Buffer.alloc(partBytes);
  }

  get error(): string | null {
    return this.#error;
  }

  write(chunk: Uint8Array): void {
    if (this.#closed) return;
    const head = chunk.subarray(0, this.#part - this.#headBytes);
    if (head.length > 0) {
      if (this.#put(head, this.#headBytes)) this.#headKept += head.length;
      this.#headBytes += head.length;
    }
    let rest = chunk.subarray(head.length);
    if (rest.length === 0) return;
    this.#pastHead += rest.length;
    rest = rest.subarray(Math.max(0, rest.length - this.#part));
    // The byte number n past the head lies at n modulo the part's size.
    const at = (this.#pastHead - rest.length) % this.#part;
    const first = rest.subarray(0, this.#part - at);
    this.#tail.set(first, at);
    this.#tail.set(rest.subarray(first.length), 0);
    // The end is brought to disk this often, so that a killed gate leaves nearly all of it.
    this.#timer ??= setTimeout(() => this.#flush(), 500).unref();
  }

  /** Bring everything to disk; later writes are ignored. */
  close(): void {
    if (this.#closed) return;
    this.#flush();
    this.#closed = true;
    closeSync(this.#fd);
  }

  /** What was printed, and what is in the file of it, bytes; final after `close`. */
  totals(): OutputTotals {
    return { bytes: this.#headBytes + this.#pastHead, kept_bytes: this.#headKept + this.#tailKept };
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pastHead === 0 || this.#closed) return;
    const tail = this.#orderedTail();
    const left = this.#pastHead - tail.length;
    const note = left === 0 ? "" : `\n[stormlog-gate: ${left} bytes of output left out here]\n`;
    const bytes = Buffer.concat([Buffer.from(note), tail]);
    if (!this.#put(bytes, this.#headBytes)) return;
    // The note and the first line kept differ in length from one flush to the next.
    ftruncateSync(this.#fd, this.#headBytes + bytes.length);
    this.#tailKept = tail.length;
  }

  #orderedTail(): Buffer {
    if (this.#pastHead <= this.#part) return this.#tail.subarray(0, this.#pastHead);
    const at = this.#pastHead % this.#part;
    const tail = Buffer.concat([this.#tail.subarray(at), this.#tail.subarray(0, at)]);
    const newline = tail.subarray(0, LINE_SEARCH_BYTES).indexOf(10);
    return newline < 0 ? tail : tail.subarray(newline + 1);
  }

  /** @returns whether all of it was written */
  #put(bytes: Uint8Array, at: number): boolean {
    if (this.#error !== null) return false;
    try {
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(this.#fd, bytes, done, bytes.length - done, at + done);
      }
    } catch (error) {
      this.#error = messageOf(error);
    }
    return this.#error === null;
  }
}
