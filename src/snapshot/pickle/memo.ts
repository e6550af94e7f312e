import type { Budget } from "./budget.ts";
import { idOf, isNumber, kindOf, tagOf } from "./values.ts";

const PAGE_BITS = 14;
const PAGE = 1 << PAGE_BITS;
const IN_PAGE = PAGE - 1;

/**
 * The memoized values of a pickle: four bytes an entry, in pages that are never copied. Most are never read. A number's
 * id is the index of its box.
 */
export class Memo {
  readonly #pages: Int32Array[] = [];
  readonly #boxes: number[] = [];
  readonly #budget: Budget;
  #original = true;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /** Whether no entry was ever replaced. Picklers replace none. */
  get isOriginal(): boolean {
    return this.#original;
  }

  put(index: number, tag: number, number: number): void {
    let page = this.#pages[index >>> PAGE_BITS];
    if (page === undefined) {
      this.#budget.charge(4 * PAGE);
      page = new Int32Array(PAGE);
      this.#pages[index >>> PAGE_BITS] = page;
    }
    if (page[index & IN_PAGE] !== 0) this.#original = false;
    if (isNumber(kindOf(tag))) {
      this.#budget.charge(8);
      page[index & IN_PAGE] = tagOf(kindOf(tag), this.#boxes.push(number) - 1);
    } else {
      page[index & IN_PAGE] = tag;
    }
  }

  /** The tag at `index`; 0 where nothing was put. */
  tag(index: number): number {
    const page = this.#pages[index >>> PAGE_BITS];
    return page === undefined ? 0 : (page[index & IN_PAGE] as number);
  }

  /** The number of a tag that {@link tag} returned for one. */
  number(tag: number): number {
    return this.#boxes[idOf(tag)] as number;
  }
}
