import type { Budget } from "../pickle/budget.ts";
import { MAX_ID } from "../pickle/values.ts";
import { HashSlots } from "./hash-slots.ts";

/** FNV-1a, 32 bits (RFC 9923). */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** Deduplicated strings, as UTF-8 bytes, which are decoded on request. */
export class StringTable {
  #bytes = new Uint8Array(1 << 14);
  /** End of each string, which is the begin of the next. */
  #ends = new Uint32Array(1 << 10);
  readonly #ids: HashSlots;
  readonly #budget: Budget;
  readonly #decoder = new TextDecoder();
  readonly #decoded = new Map<number, string>();

  /** `first`: UTF-8 strings that get the ids 0, 1, … */
  constructor(budget: Budget, first: readonly Uint8Array[]) {
    this.#budget = budget;
    this.#ids = new HashSlots(budget);
    for (const bytes of first) this.intern(bytes, 0, bytes.length);
  }

  intern(source: Uint8Array, from: number, length: number): number {
    let hash = FNV_OFFSET;
    const to = from + length;
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ (source[i] as number), FNV_PRIME);
    hash = (hash ^ (hash >>> 15)) >>> 0;
    for (let id = this.#ids.first(hash); id >= 0; id = this.#ids.next()) {
      if (this.#equals(id, source, from, length)) return id;
    }
    return this.#add(source, from, length);
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

  #add(source: Uint8Array, from: number, length: number): number {
    const id = this.#ids.add();
    if (id > MAX_ID) this.#budget.charge(Number.POSITIVE_INFINITY);
    const start = id === 0 ? 0 : (this.#ends[id - 1] as number);
    const end = start + length;
    if (end > this.#bytes.length) this.#bytes = this.#budget.longer(this.#bytes, end);
    this.#bytes.set(source.subarray(from, from + length), start);
    if (id === this.#ends.length) this.#ends = this.#budget.longer(this.#ends);
    this.#ends[id] = end;
    return id;
  }
}
