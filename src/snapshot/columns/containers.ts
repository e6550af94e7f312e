import type { Budget } from "../pickle/budget.ts";

const PAGE_BITS = 12;
const PAGE = 1 << PAGE_BITS;

/** What a dict or a list turned out to hold; 0 = nothing yet. */
export const Class = {
  empty: 0,
  /** A dict of no known kind, or a list of things a snapshot needs nothing of. */
  other: 1,
  frame: 2,
  trace: 3,
  segment: 4,
  block: 5,
  /** An entry of a block's `history`, before PyTorch 2.1. */
  history: 6,
  annotation: 7,
  /** The snapshot itself. */
  top: 8,
  /** Lists only: of lists. */
  lists: 9,
} as const;

/** The dicts or lists of a pickle: each has a class and one or two references that depend on it. 5 or 9 bytes each. */
export class Containers {
  readonly #classes: Uint8Array[] = [];
  readonly #heads: Uint32Array[] = [];
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
      this.#budget.charge((this.#paired ? 9 : 5) * PAGE);
      this.#classes.push(new Uint8Array(PAGE));
      this.#heads.push(new Uint32Array(PAGE));
      if (this.#paired) this.#tails.push(new Uint32Array(PAGE));
    }
    return this.#used++;
  }

  classOf(id: number): number {
    return (this.#classes[id >>> PAGE_BITS] as Uint8Array)[id & (PAGE - 1)] as number;
  }

  head(id: number): number {
    return (this.#heads[id >>> PAGE_BITS] as Uint32Array)[id & (PAGE - 1)] as number;
  }

  tail(id: number): number {
    return (this.#tails[id >>> PAGE_BITS] as Uint32Array)[id & (PAGE - 1)] as number;
  }

  set(id: number, kind: number, head: number): void {
    (this.#classes[id >>> PAGE_BITS] as Uint8Array)[id & (PAGE - 1)] = kind;
    (this.#heads[id >>> PAGE_BITS] as Uint32Array)[id & (PAGE - 1)] = head;
  }

  setTail(id: number, tail: number): void {
    (this.#tails[id >>> PAGE_BITS] as Uint32Array)[id & (PAGE - 1)] = tail;
  }
}
