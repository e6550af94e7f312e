import { invalidInput } from "../../core/errors.ts";

/**
 * Memory a snapshot may take over its own size. Those that PyTorch writes take about a third of it (a trace entry of some 200
 * bytes becomes 40); only a file made to be expensive comes near.
 */
const FILE_FACTOR = 2.5;
/** The tables' first pages and other small change. */
const FREE_BYTES = 24 * 2 ** 20;

/** Counts the bytes that reading one file has taken, and stops a file that wants more than one of its size may. */
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
        "reading it needs far more memory than a snapshot of its size does",
        this.#where,
        "The file was not written by PyTorch, or it is damaged.",
      );
    }
  }
}
