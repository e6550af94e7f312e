import type { Budget } from "../pickle/budget.ts";

const PAGE_BITS = 8;
const PAGE = 1 << PAGE_BITS;

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
    if ((this.#used & (PAGE - 1)) === 0) {
      this.#budget.charge(8 * PAGE * this.#width);
      this.#pages.push(new Float64Array(PAGE * this.#width).fill(Number.NaN));
    }
    return this.#used++;
  }

  set(row: number, field: number, value: number): void {
    const page = this.#pages[row >>> PAGE_BITS];
    if (page !== undefined) page[(row & (PAGE - 1)) * this.#width + field] = value;
  }

  get(row: number, field: number): number {
    return this.#pages[row >>> PAGE_BITS]?.[(row & (PAGE - 1)) * this.#width + field] ?? Number.NaN;
  }
}
