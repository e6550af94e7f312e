import type { Budget } from "../pickle/budget.ts";
import { MAX_ID } from "../pickle/values.ts";

/** Maximum probes for an equal string. A file with colliding strings keeps some twice and takes no more time. */
const MAX_PROBES = 32;
/** FNV-1a, 32 bits (RFC 9923). */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** Deduplicated strings, as UTF-8 bytes, which are decoded on request. */
export class StringTable {
  #bytes = new Uint8Array(1 << 14);
  /** End of each string, which is the begin of the next. */
  #ends = new Uint32Array(1 << 10);
  #hashes = new Uint32Array(1 << 10);
  /** String id + 1 by hash; 0 = free. */
  #slots = new Uint32Array(1 << 11);
  #count = 0;
  readonly #budget: Budget;
  readonly #decoder = new TextDecoder();
  readonly #decoded = new Map<number, string>();

  /** `first`: UTF-8 strings that get the ids 0, 1, … */
  constructor(budget: Budget, first: readonly Uint8Array[]) {
    this.#budget = budget;
    for (const bytes of first) this.intern(bytes, 0, bytes.length);
  }

  intern(source: Uint8Array, from: number, length: number): number {
    let hash = FNV_OFFSET;
    const to = from + length;
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ (source[i] as number), FNV_PRIME);
    hash = (hash ^ (hash >>> 15)) >>> 0;
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    let free = -1;
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      const id = (this.#slots[slot] as number) - 1;
      if (id < 0) {
        free = slot;
        break;
      }
      if (this.#hashes[id] === hash && this.#equals(id, source, from, length)) return id;
      slot = (slot + 1) & mask;
    }
    return this.#add(source, from, length, hash, free);
  }

  text(id: number): string {
    let text = this.#decoded.get(id);
    if (text === undefined) {
      text = this.#decoder.decode(this.#bytes.subarray(id === 0 ? 0 : this.#ends[id - 1], this.#ends[id]));
      this.#decoded.set(id, text);
    }
    return text;
  }

  #equals(id: number, source: Uint8Array, from: number, length: number): boolean {
    const start = id === 0 ? 0 : (this.#ends[id - 1] as number);
    if ((this.#ends[id] as number) - start !== length) return false;
    for (let i = 0; i < length; i++) if (this.#bytes[start + i] !== source[from + i]) return false;
    return true;
  }

  #add(source: Uint8Array, from: number, length: number, hash: number, free: number): number {
    const id = this.#count++;
    if (id > MAX_ID) this.#budget.charge(Number.POSITIVE_INFINITY);
    const start = id === 0 ? 0 : (this.#ends[id - 1] as number);
    const end = start + length;
    if (end > this.#bytes.length) {
      const size = Math.max(end, 2 * this.#bytes.length);
      this.#budget.charge(size);
      const more = new Uint8Array(size);
      more.set(this.#bytes);
      this.#bytes = more;
    }
    this.#bytes.set(source.subarray(from, from + length), start);
    if (id === this.#ends.length) {
      this.#budget.charge(16 * id);
      const ends = new Uint32Array(2 * id);
      const hashes = new Uint32Array(2 * id);
      ends.set(this.#ends);
      hashes.set(this.#hashes);
      this.#ends = ends;
      this.#hashes = hashes;
    }
    this.#ends[id] = end;
    this.#hashes[id] = hash;
    if (free >= 0) this.#slots[free] = id + 1;
    if (2 * this.#count > this.#slots.length) this.#rehash();
    return id;
  }

  #rehash(): void {
    const size = 2 * this.#slots.length;
    this.#budget.charge(4 * size);
    const slots = new Uint32Array(size);
    const mask = size - 1;
    for (let id = 0; id < this.#count; id++) {
      let slot = (this.#hashes[id] as number) & mask;
      for (let probe = 0; probe < MAX_PROBES; probe++) {
        if (slots[slot] === 0) {
          slots[slot] = id + 1;
          break;
        }
        slot = (slot + 1) & mask;
      }
    }
    this.#slots = slots;
  }
}
