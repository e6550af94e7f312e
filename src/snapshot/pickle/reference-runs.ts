import type { Budget } from "./budget.ts";
import { Op } from "./opcodes.ts";
import { idOf, isNumber, Kind, kindOf, type PickleBuilder, tagOf, type Values } from "./values.ts";
import type { Window } from "./window.ts";

/** Picklers write lists in batches of a thousand items. */
const MAX_RUN = 1024;
const SLOTS = 1 << 17;
const FIRST_WORDS = 1 << 14;
/** 16 MiB. Further runs are read like all other values. */
const MAX_WORDS = 1 << 22;
/** Words of a kept run before its references: their number and what the builder returned. */
const HEAD = 2;

/**
 * Lists of references that occur repeatedly: the stacks of a snapshot, which take four fifths of a file. The builder
 * gives a number for the contents of such a list, and the same references get the same number, without a lookup of
 * each.
 */
export class ReferenceRuns {
  readonly #indices = new Uint32Array(MAX_RUN);
  /** What they refer to. */
  readonly #values: Values = { tags: new Int32Array(MAX_RUN), numbers: new Float64Array(0) };
  /** Begin of a run in #words by hash; 0 = free. */
  readonly #slots = new Uint32Array(SLOTS);
  #words = new Uint32Array(FIRST_WORDS);
  #used = 1;
  readonly #memo: Memo;
  readonly #builder: PickleBuilder;
  readonly #budget: Budget;

  constructor(memo: Memo, builder: PickleBuilder, budget: Budget) {
    this.#memo = memo;
    this.#builder = builder;
    this.#budget = budget;
    budget.charge(4 * (SLOTS + FIRST_WORDS + 2 * MAX_RUN));
  }

  /**
   * Appends the references at `from`, up to the APPENDS after them, to a list.
   * @returns the position after APPENDS, or -1 with nothing changed: the opcodes must be run one by one
   */
  append(list: number, window: Window, from: number): number {
    const { bytes, view, safe } = window;
    const indices = this.#indices;
    let position = from;
    let length = 0;
    let hash = 0;
    for (;;) {
      if (position >= safe || length === MAX_RUN) return -1;
      const op = bytes[position];
      let index: number;
      if (op === Op.LONG_BINGET) {
        index = view.getUint32(position + 1, true);
        position += 5;
      } else if (op === Op.BINGET) {
        index = bytes[position + 1] as number;
        position += 2;
      } else if (op === Op.APPENDS && length > 0) break;
      else return -1;
      indices[length++] = index;
      hash = Math.imul(hash ^ index, 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    const slot = this.#slotOf(hash, length);
    const known = slot < 0 ? 0 : (this.#slots[slot] as number);
    if (known !== 0 && this.#memo.isOriginal && this.#builder.repeat(list, this.#words[known + 1] as number)) {
      return position + 1;
    }
    for (let i = 0; i < length; i++) {
      const tag = this.#memo.tag(indices[i] as number);
      // A reference to nothing is reported, and a number cannot be in the list of a stack.
      if (kindOf(tag) < Kind.string) return -1;
      this.#values.tags[i] = tag;
    }
    const contents = this.#builder.append(list, this.#values, 0, length);
    if (contents >= 0 && slot >= 0 && known === 0) this.#keep(slot, length, contents);
    return position + 1;
  }

  /** The slot of the run of the first `length` indices, or the free one for it; -1 = no slot is left near its hash. */
  #slotOf(hash: number, length: number): number {
    for (let probe = 0; probe < 8; probe++) {
      const slot = (hash + probe) & (SLOTS - 1);
      const known = this.#slots[slot] as number;
      if (known === 0 || this.#equals(known, length)) return slot;
    }
    return -1;
  }

  #equals(known: number, length: number): boolean {
    const words = this.#words;
    const indices = this.#indices;
    if (words[known] !== length) return false;
    for (let i = 0; i < length; i++) if (words[known + HEAD + i] !== indices[i]) return false;
    return true;
  }

  #keep(slot: number, length: number, contents: number): void {
    const end = this.#used + HEAD + length;
    if (end > MAX_WORDS) return;
    if (end > this.#words.length) this.#words = this.#budget.longer(this.#words);
    this.#words[this.#used] = length;
    this.#words[this.#used + 1] = contents;
    this.#words.set(this.#indices.subarray(0, length), this.#used + HEAD);
    this.#slots[slot] = this.#used;
    this.#used = end;
  }
}

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
