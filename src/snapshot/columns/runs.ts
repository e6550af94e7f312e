import type { Budget } from "../pickle/budget.ts";

/** The empty sequence. */
export const NO_RUN = 0xffffffff;

/** Sequences of row numbers as runs. A list's rows are consecutive in the file, so a list of any length is one run. */
export class Runs {
  #starts = new Uint32Array(1 << 10);
  #counts = new Uint32Array(1 << 10);
  #nexts = new Uint32Array(1 << 10);
  #used = 0;
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /** Appends a row to the run `tail` ({@link NO_RUN} begins a sequence). Returns the sequence's new tail. */
  add(tail: number, row: number): number {
    if (tail !== NO_RUN && (this.#starts[tail] as number) + (this.#counts[tail] as number) === row) {
      this.#counts[tail] = (this.#counts[tail] as number) + 1;
      return tail;
    }
    const run = this.#used++;
    if (run === this.#starts.length) {
      this.#starts = this.#budget.longer(this.#starts);
      this.#counts = this.#budget.longer(this.#counts);
      this.#nexts = this.#budget.longer(this.#nexts);
    }
    this.#starts[run] = row;
    this.#counts[run] = 1;
    this.#nexts[run] = NO_RUN;
    if (tail !== NO_RUN) this.#nexts[tail] = run;
    return run;
  }

  /** The runs of a sequence in order. */
  *from(head: number): Generator<{ readonly start: number; readonly count: number }, void, undefined> {
    for (let run = head; run !== NO_RUN; run = this.#nexts[run] as number) {
      yield { start: this.#starts[run] as number, count: this.#counts[run] as number };
    }
  }

  /** Number of rows of a sequence. */
  total(head: number): number {
    let sum = 0;
    for (const { count } of this.from(head)) sum += count;
    return sum;
  }
}
