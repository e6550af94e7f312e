import type { Frame } from "../model/frames.ts";
import type { Budget } from "../pickle/budget.ts";
import { idOf, Kind, kindOf } from "../pickle/values.ts";
import { Class, type Containers } from "./containers.ts";
import type { StringTable } from "./strings.ts";
import { TripleTable } from "./triple-table.ts";

/** The entry has no stack. */
export const NO_STACK = 0;
/** The entry has an empty stack: allocated before recording began, or by a thread without Python. */
export const EMPTY_STACK = 1;
/** Deeper frames are dropped. CPython's default recursion limit is 1000. */
const MAX_FRAMES = 4096;
const PAGE_BITS = 14;
const PAGE = 1 << PAGE_BITS;
/** Maximum probes for an equal stack. A file with colliding stacks keeps some twice and takes no more time. */
const MAX_PROBES = 32;

/** Deduplicated frames and stacks. A stack is a sequence of frame numbers, innermost first. */
export class StackTable {
  /** String ids of file and function, and the line. */
  readonly #frames: TripleTable;
  /** Frame numbers of all stacks; none crosses a page. */
  readonly #pages: Uint32Array[] = [];
  #filled = PAGE;
  #starts = new Uint32Array(1 << 10);
  #depths = new Uint16Array(1 << 10);
  #hashes = new Uint32Array(1 << 10);
  /** Stack + 1 by hash; 0 = free. */
  #slots = new Uint32Array(1 << 11);
  /** {@link NO_STACK} and {@link EMPTY_STACK} have no frames. */
  #used = 2;
  readonly #shown = new Map<number, Frame>();
  readonly #strings: StringTable;
  readonly #budget: Budget;

  constructor(strings: StringTable, budget: Budget) {
    this.#strings = strings;
    this.#budget = budget;
    this.#frames = new TripleTable(budget);
  }

  /** Number of stacks, including {@link NO_STACK} and {@link EMPTY_STACK}. */
  get count(): number {
    return this.#used;
  }

  get frameCount(): number {
    return this.#frames.count;
  }

  /** Number of a frame from the ids of its strings. */
  frame(file: number, name: number, line: number): number {
    return this.#frames.number(file, name, line);
  }

  /** String ids of a frame, and its line. */
  parts(frame: number): { readonly file: number; readonly name: number; readonly line: number } {
    return {
      file: this.#frames.first[frame] ?? 0,
      name: this.#frames.second[frame] ?? 0,
      line: this.#frames.third[frame] ?? 0,
    };
  }

  frameAt(frame: number): Frame {
    let known = this.#shown.get(frame);
    if (known === undefined) {
      const { file, name, line } = this.parts(frame);
      known = { file: this.#strings.text(file), line, function: this.#strings.text(name) };
      this.#shown.set(frame, known);
    }
    return known;
  }

  /** The stack of the first `length` numbers of `frames`. */
  intern(frames: Uint32Array, length: number): number {
    if (length === 0) return EMPTY_STACK;
    const depth = Math.min(length, MAX_FRAMES);
    let hash = depth;
    for (let i = 0; i < depth; i++) {
      hash = Math.imul(hash ^ (frames[i] as number), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    hash >>>= 0;
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    let free = -1;
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      const stack = (this.#slots[slot] as number) - 1;
      if (stack < 0) {
        free = slot;
        break;
      }
      if (this.#hashes[stack] === hash && this.#equals(stack, frames, depth)) return stack;
      slot = (slot + 1) & mask;
    }
    return this.#add(frames, depth, hash, free);
  }

  depth(stack: number): number {
    return stack < this.#used ? (this.#depths[stack] as number) : 0;
  }

  /** Number of the frame at `depth`, 0 = the innermost. */
  at(stack: number, place: number): number {
    const start = this.#starts[stack] as number;
    return (this.#pages[start >>> PAGE_BITS]?.[(start & (PAGE - 1)) + place] ?? 0) as number;
  }

  /** Writes the frame numbers of a stack into `target` and returns their number. */
  copy(stack: number, target: Uint32Array): number {
    const depth = this.depth(stack);
    const start = this.#starts[stack] as number;
    const page = this.#pages[start >>> PAGE_BITS];
    if (page !== undefined && depth > 0) target.set(page.subarray(start & (PAGE - 1), (start & (PAGE - 1)) + depth));
    return depth;
  }

  /** The frames, innermost first, at most `most`. */
  list(stack: number, most = MAX_FRAMES): Frame[] {
    const depth = Math.min(most, this.depth(stack));
    return Array.from({ length: depth }, (_, place) => this.frameAt(this.at(stack, place)));
  }

  #equals(stack: number, frames: Uint32Array, depth: number): boolean {
    if (this.#depths[stack] !== depth) return false;
    const start = this.#starts[stack] as number;
    const page = this.#pages[start >>> PAGE_BITS] as Uint32Array;
    const from = start & (PAGE - 1);
    for (let i = 0; i < depth; i++) if (page[from + i] !== frames[i]) return false;
    return true;
  }

  #add(frames: Uint32Array, depth: number, hash: number, free: number): number {
    if (this.#filled + depth > PAGE) {
      this.#budget.charge(4 * PAGE);
      this.#pages.push(new Uint32Array(PAGE));
      this.#filled = 0;
    }
    const stack = this.#used++;
    if (stack === this.#starts.length) this.#grow();
    const last = this.#pages.length - 1;
    (this.#pages[last] as Uint32Array).set(frames.subarray(0, depth), this.#filled);
    this.#starts[stack] = last * PAGE + this.#filled;
    this.#depths[stack] = depth;
    this.#hashes[stack] = hash;
    this.#filled += depth;
    if (free >= 0) this.#slots[free] = stack + 1;
    if (2 * this.#used > this.#slots.length) this.#rehash();
    return stack;
  }

  #grow(): void {
    const size = 2 * this.#starts.length;
    this.#budget.charge(10 * size);
    const starts = new Uint32Array(size);
    const depths = new Uint16Array(size);
    const hashes = new Uint32Array(size);
    starts.set(this.#starts);
    depths.set(this.#depths);
    hashes.set(this.#hashes);
    this.#starts = starts;
    this.#depths = depths;
    this.#hashes = hashes;
  }

  #rehash(): void {
    const size = 2 * this.#slots.length;
    this.#budget.charge(4 * size);
    const slots = new Uint32Array(size);
    for (let stack = 2; stack < this.#used; stack++) {
      let slot = (this.#hashes[stack] as number) & (size - 1);
      for (let probe = 0; probe < MAX_PROBES; probe++) {
        if (slots[slot] === 0) {
          slots[slot] = stack + 1;
          break;
        }
        slot = (slot + 1) & (size - 1);
      }
    }
    this.#slots = slots;
  }
}

/** The list of frames that is being written. It becomes a stack when another list begins or its stack is requested. */
export class OpenStack {
  /** Id of the list; -1 = none. */
  list = -1;
  readonly #frames = new Uint32Array(MAX_FRAMES);
  #length = 0;
  readonly #stacks: StackTable;

  constructor(stacks: StackTable) {
    this.#stacks = stacks;
  }

  /** Starts with the frames of the list's current stack. */
  open(list: number, stack: number): void {
    this.list = list;
    this.#length = this.#stacks.copy(stack, this.#frames);
  }

  /** Adds the frames from `from` on, up to the first value that is none. Returns its index. */
  push(tags: Int32Array, from: number, to: number, dicts: Containers): number {
    let length = this.#length;
    let at = from;
    for (; at < to; at++) {
      const tag = tags[at] as number;
      if (kindOf(tag) !== Kind.dict || dicts.classOf(idOf(tag)) !== Class.frame) break;
      if (length < MAX_FRAMES) this.#frames[length++] = dicts.head(idOf(tag));
    }
    this.#length = length;
    return at;
  }

  /** The current stack. */
  close(): number {
    this.list = -1;
    return this.#stacks.intern(this.#frames, this.#length);
  }
}
