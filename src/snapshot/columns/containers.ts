import type { Budget } from "../pickle/budget.ts";
import { idOf, kindOf, MAX_ID, tagOf } from "../pickle/values.ts";

const PAGE_BITS = 14;
const PAGE = 1 << PAGE_BITS;

/** Class of a dict, or of the items of a list; 0 = not known yet. */
export const Class = {
  empty: 0,
  /** A dict of unknown class, or a list of values that a snapshot does not need. */
  other: 1,
  frame: 2,
  trace: 3,
  segment: 4,
  block: 5,
  /** An entry of a block's `history`, before PyTorch 2.1. */
  history: 6,
  annotation: 7,
  /** The top-level dict. */
  top: 8,
  /** A list of lists. */
  lists: 9,
} as const;

/** The dicts or lists of a pickle: a class and one or two references by class, in 4 or 8 bytes. */
export class Containers {
  /** Class and first reference, as the tag of a value has kind and id. */
  readonly #heads: Int32Array[] = [];
  readonly #tails: Uint32Array[] = [];
  readonly #paired: boolean;
  readonly #budget: Budget;
  #used = 0;

  constructor(paired: boolean, budget: Budget) {
    this.#paired = paired;
    this.#budget = budget;
  }

  add(): number {
    if ((this.#used & (PAGE - 1)) === 0) {
      this.#budget.charge(this.#used > MAX_ID ? Number.POSITIVE_INFINITY : (this.#paired ? 8 : 4) * PAGE);
      this.#heads.push(new Int32Array(PAGE));
      if (this.#paired) this.#tails.push(new Uint32Array(PAGE));
    }
    return this.#used++;
  }

  classOf(id: number): number {
    return kindOf((this.#heads[id >>> PAGE_BITS] as Int32Array)[id & (PAGE - 1)] as number);
  }

  head(id: number): number {
    return idOf((this.#heads[id >>> PAGE_BITS] as Int32Array)[id & (PAGE - 1)] as number);
  }

  tail(id: number): number {
    return (this.#tails[id >>> PAGE_BITS] as Uint32Array)[id & (PAGE - 1)] as number;
  }

  set(id: number, kind: number, head: number): void {
    (this.#heads[id >>> PAGE_BITS] as Int32Array)[id & (PAGE - 1)] = tagOf(kind, head);
  }

  setTail(id: number, tail: number): void {
    (this.#tails[id >>> PAGE_BITS] as Uint32Array)[id & (PAGE - 1)] = tail;
  }
}

const ROW_BITS = 8;
const ROWS = 1 << ROW_BITS;

/** Rows of a fixed number of double fields, in pages that are never copied. A field without a value is NaN. */
export class Rows {
  readonly #pages: Float64Array[] = [];
  readonly #width: number;
  readonly #budget: Budget;
  #used = 0;

  constructor(width: number, budget: Budget) {
    this.#width = width;
    this.#budget = budget;
  }

  add(): number {
    if ((this.#used & (ROWS - 1)) === 0) {
      this.#budget.charge(8 * ROWS * this.#width);
      this.#pages.push(new Float64Array(ROWS * this.#width).fill(Number.NaN));
    }
    return this.#used++;
  }

  set(row: number, field: number, value: number): void {
    const page = this.#pages[row >>> ROW_BITS];
    if (page !== undefined) page[(row & (ROWS - 1)) * this.#width + field] = value;
  }

  get(row: number, field: number): number {
    return this.#pages[row >>> ROW_BITS]?.[(row & (ROWS - 1)) * this.#width + field] ?? Number.NaN;
  }
}

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
