import type { Budget } from "../pickle/budget.ts";

/** Maximum probes for an equal item. A file with colliding items keeps some twice and takes no more time. */
const MAX_PROBES = 32;

/** Numbers items by their hashes: open addressing over ids 0, 1, … in the order of addition. */
export class HashSlots {
  #hashes = new Uint32Array(1 << 10);
  /** Id + 1 by hash; 0 = free. */
  #slots = new Uint32Array(1 << 11);
  #count = 0;
  readonly #budget: Budget;
  /** The search: its hash, the next probe, and the free slot that ended it (-1 = none). */
  #hash = 0;
  #probe = 0;
  #free = -1;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  get count(): number {
    return this.#count;
  }

  /** Begins a search. Returns the first id with this hash (unsigned), or -1. */
  first(hash: number): number {
    this.#hash = hash;
    this.#probe = 0;
    this.#free = -1;
    return this.next();
  }

  /** The next id with the hash of the search, or -1. */
  next(): number {
    const slots = this.#slots;
    while (this.#probe < MAX_PROBES) {
      const slot = (this.#hash + this.#probe++) & (slots.length - 1);
      const id = (slots[slot] as number) - 1;
      if (id < 0) {
        this.#free = slot;
        return -1;
      }
      if (this.#hashes[id] === this.#hash) return id;
    }
    return -1;
  }

  /** The id of a new item with the hash of the search, which ended without it. */
  add(): number {
    const id = this.#count++;
    if (id === this.#hashes.length) this.#hashes = this.#budget.longer(this.#hashes);
    this.#hashes[id] = this.#hash;
    if (this.#free >= 0) this.#slots[this.#free] = id + 1;
    if (2 * this.#count > this.#slots.length) this.#rehash();
    return id;
  }

  #rehash(): void {
    const size = 2 * this.#slots.length;
    this.#budget.charge(4 * size);
    this.#slots = new Uint32Array(size);
    for (let id = 0; id < this.#count; id++) {
      let slot = this.#hashes[id] as number;
      for (let probe = 0; probe < MAX_PROBES && this.#slots[slot & (size - 1)] !== 0; probe++) slot++;
      if (this.#slots[slot & (size - 1)] === 0) this.#slots[slot & (size - 1)] = id + 1;
    }
  }
}
