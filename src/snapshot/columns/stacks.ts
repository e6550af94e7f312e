import type { Frame } from "../model/frames.ts";
import type { Budget } from "../pickle/budget.ts";
import { idOf, Kind, kindOf } from "../pickle/values.ts";
import { Class, type Containers } from "./containers.ts";
import { HashSlots } from "./hash-slots.ts";
import type { StringTable } from "./strings.ts";

/** The entry has no stack. */
export const NO_STACK = 0;
/** The entry has an empty stack: allocated before recording began, or by a thread without Python. */
export const EMPTY_STACK = 1;
/** Deeper frames are dropped. CPython's default recursion limit is 1000. */
const MAX_FRAMES = 4096;
/** {@link NO_STACK} and {@link EMPTY_STACK} have no frames. */
const FIRST_STACK = 2;
const PAGE_BITS = 14;
const PAGE = 1 << PAGE_BITS;

/** Deduplicated frames and stacks. A stack is a sequence of frame numbers, innermost first. */
export class StackTable {
  /** String ids of file and function, and the line. */
  readonly #frames: HashSlots;
  #files = new Uint32Array(1 << 10);
  #names = new Uint32Array(1 << 10);
  #lines = new Uint32Array(1 << 10);
  /** Frame numbers of all stacks; none crosses a page. */
  readonly #pages: Uint32Array[] = [];
  #filled = PAGE;
  #starts = new Uint32Array(1 << 10);
  #depths = new Uint16Array(1 << 10);
  /** Number of each stack minus {@link FIRST_STACK}. */
  readonly #ids: HashSlots;
  readonly #shown = new Map<number, Frame>();
  readonly #strings: StringTable;
  readonly #budget: Budget;

  constructor(strings: StringTable, budget: Budget) {
    this.#strings = strings;
    this.#budget = budget;
    this.#frames = new HashSlots(budget);
    this.#ids = new HashSlots(budget);
  }

  /** Number of stacks, including {@link NO_STACK} and {@link EMPTY_STACK}. */
  get count(): number {
    return this.#ids.count + FIRST_STACK;
  }

  get frameCount(): number {
    return this.#frames.count;
  }

  /** Number of a frame from the ids of its strings. */
  frame(file: number, name: number, line: number): number {
    const frames = this.#frames;
    for (let id = frames.first(mixed(file, name, line)); id >= 0; id = frames.next()) {
      if (this.#files[id] === file && this.#names[id] === name && this.#lines[id] === line) return id;
    }
    const id = frames.add();
    if (id === this.#files.length) {
      this.#files = this.#budget.longer(this.#files);
      this.#names = this.#budget.longer(this.#names);
      this.#lines = this.#budget.longer(this.#lines);
    }
    this.#files[id] = file;
    this.#names[id] = name;
    this.#lines[id] = line;
    return id;
  }

  /** String ids of a frame, and its line. */
  parts(frame: number): { readonly file: number; readonly name: number; readonly line: number } {
    return { file: this.#files[frame] ?? 0, name: this.#names[frame] ?? 0, line: this.#lines[frame] ?? 0 };
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
    for (let id = this.#ids.first(hash >>> 0); id >= 0; id = this.#ids.next()) {
      if (this.#equals(id + FIRST_STACK, frames, depth)) return id + FIRST_STACK;
    }
    return this.#add(frames, depth);
  }

  depth(stack: number): number {
    return stack < this.count ? (this.#depths[stack] as number) : 0;
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

  #add(frames: Uint32Array, depth: number): number {
    if (this.#filled + depth > PAGE) {
      this.#budget.charge(4 * PAGE);
      this.#pages.push(new Uint32Array(PAGE));
      this.#filled = 0;
    }
    const stack = this.#ids.add() + FIRST_STACK;
    if (stack === this.#starts.length) {
      this.#starts = this.#budget.longer(this.#starts);
      this.#depths = this.#budget.longer(this.#depths);
    }
    const last = this.#pages.length - 1;
    (this.#pages[last] as Uint32Array).set(frames.subarray(0, depth), this.#filled);
    this.#starts[stack] = last * PAGE + this.#filled;
    this.#depths[stack] = depth;
    this.#filled += depth;
    return stack;
  }
}

/** Finaliser in the style of MurmurHash3. */
function mixed(a: number, b: number, c: number): number {
  let hash = Math.imul(a, 0xcc9e2d51) ^ Math.imul(b, 0x1b873593) ^ Math.imul(c, 0xe6546b64);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
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
