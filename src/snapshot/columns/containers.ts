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
