import type { Budget } from "../pickle/budget.ts";

const MAX_PROBES = 32;

/** Numbers triples of 32-bit values by first appearance. Colliding triples are kept twice, and take no more time. */
export class TripleTable {
  first = new Uint32Array(1 << 10);
  second = new Uint32Array(1 << 10);
  third = new Uint32Array(1 << 10);
  #slots = new Uint32Array(1 << 11);
  #used = 0;
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  get count(): number {
    return this.#used;
  }

  number(a: number, b: number, c: number): number {
    const mask = this.#slots.length - 1;
    let slot = mix(a, b, c) & mask;
    let free = -1;
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      const id = (this.#slots[slot] as number) - 1;
      if (id < 0) {
        free = slot;
        break;
      }
      if (this.first[id] === a && this.second[id] === b && this.third[id] === c) return id;
      slot = (slot + 1) & mask;
    }
    const id = this.#used++;
    if (id === this.first.length) this.#grow();
    this.first[id] = a;
    this.second[id] = b;
    this.third[id] = c;
    if (free >= 0) this.#slots[free] = id + 1;
    if (2 * this.#used > this.#slots.length) this.#rehash();
    return id;
  }

  #grow(): void {
    const size = 2 * this.first.length;
    this.#budget.charge(12 * size);
    const longer = (old: Uint32Array): Uint32Array<ArrayBuffer> => {
      const more = new Uint32Array(size);
      more.set(old);
      return more;
    };
    this.first = longer(this.first);
    this.second = longer(this.second);
    this.third = longer(this.third);
  }

  #rehash(): void {
    const size = 2 * this.#slots.length;
    this.#budget.charge(4 * size);
    const slots = new Uint32Array(size);
    for (let id = 0; id < this.#used; id++) {
      let slot = mix(this.first[id] as number, this.second[id] as number, this.third[id] as number) & (size - 1);
      for (let probe = 0; probe < MAX_PROBES; probe++) {
        if (slots[slot] === 0) {
          slots[slot] = id + 1;
          break;
        }
        slot = (slot + 1) & (size - 1);
      }
    }
    this.#slots = slots;
  }
}

/** Finaliser in the style of MurmurHash3. */
function mix(a: number, b: number, c: number): number {
  let hash = Math.imul(a, 0xcc9e2d51) ^ Math.imul(b, 0x1b873593) ^ Math.imul(c, 0xe6546b64);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
