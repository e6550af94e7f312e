import type { Budget } from "./budget.ts";
import { Kind } from "./values.ts";

const PAGE_BITS = 12;
const PAGE = 1 << PAGE_BITS;
const IN_PAGE = PAGE - 1;
/** Set on the kind of a plain number. The memo then contains the index of its box. */
const BOXED = 0x80;

/** The memoized values of a pickle: five bytes an entry, in pages that are never copied. Most are never read. */
export class Memo {
  readonly #kinds: Uint8Array[] = [];
  readonly #refs: Uint32Array[] = [];
  readonly #boxes: number[] = [];
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  put(index: number, kind: number, value: number): void {
    const page = index >>> PAGE_BITS;
    let kinds = this.#kinds[page];
    let refs = this.#refs[page];
    if (kinds === undefined || refs === undefined) {
      this.#budget.charge(5 * PAGE);
      kinds = new Uint8Array(PAGE);
      refs = new Uint32Array(PAGE);
      this.#kinds[page] = kinds;
      this.#refs[page] = refs;
    }
    const at = index & IN_PAGE;
    if (kind >= Kind.string && kind <= Kind.pool) {
      kinds[at] = kind;
      refs[at] = value;
    } else {
      this.#budget.charge(8);
      kinds[at] = kind | BOXED;
      refs[at] = this.#boxes.push(value) - 1;
    }
  }

  /** The kind at `index`; 0 where nothing was put. */
  kind(index: number): number {
    const kinds = this.#kinds[index >>> PAGE_BITS];
    return kinds === undefined ? 0 : (kinds[index & IN_PAGE] as number) & ~BOXED;
  }

  /** The value at `index`, which must have been put. */
  value(index: number): number {
    const page = index >>> PAGE_BITS;
    const ref = this.#refs[page]?.[index & IN_PAGE] ?? 0;
    const boxed = ((this.#kinds[page]?.[index & IN_PAGE] ?? 0) & BOXED) !== 0;
    return boxed ? (this.#boxes[ref] ?? Number.NaN) : ref;
  }
}
