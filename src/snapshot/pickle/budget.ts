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
