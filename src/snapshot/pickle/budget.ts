import { invalidInput } from "../../core/errors.ts";

/** Maximum memory as a multiple of the file's size. PyTorch's take a third (200 bytes of a trace entry become 40). */
const FILE_FACTOR = 2.5;
/** The tables' first pages and other constant costs. */
const FREE_BYTES = 24 * 2 ** 20;

/** Counts the bytes that reading one file has taken, and rejects a file that exceeds the limit of its size. */
export class Budget {
  #spent = 0;
  readonly #limit: number;
  readonly #where: string;

  constructor(fileBytes: number, where: string) {
    this.#limit = FREE_BYTES + FILE_FACTOR * fileBytes;
    this.#where = where;
  }

  /** A copy of an array with twice the length, or `least`. */
  longer<T extends Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array>(array: T, least = 0): T {
    const length = Math.max(least, 2 * array.length);
    this.charge(array.BYTES_PER_ELEMENT * length);
    const copy = new (array.constructor as new (length: number) => T)(length);
    copy.set(array);
    return copy;
  }

  /** @throws GateError SNAPSHOT_TOO_COSTLY */
  charge(bytes: number): void {
    this.#spent += bytes;
    if (this.#spent > this.#limit) {
      throw invalidInput(
        "SNAPSHOT_TOO_COSTLY",
        "reading it needs far more memory than a snapshot of its size should",
        this.#where,
        "The file was not written by PyTorch, or it is damaged.",
      );
    }
  }
}
