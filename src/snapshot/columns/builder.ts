import { actionCode, FIRST_TEXTS, KEY_COUNT, Key, stateCode } from "../model/keys.ts";
import type { Budget } from "../pickle/budget.ts";
import { idOf, isNumber, Kind, kindOf, MAX_ID, type PickleBuilder, tagOf, type Values } from "../pickle/values.ts";
import { Class, Containers, NO_RUN, Rows, Runs } from "./containers.ts";
import { CLASS_OF_KEY, FIELDS, type FieldRule, VALUE_KINDS, WIDTHS } from "./fields.ts";
import { EMPTY_STACK, NO_STACK, OpenStack, StackTable } from "./stacks.ts";
import { StringTable } from "./strings.ts";
import { TraceRows } from "./trace-rows.ts";

/** Key, kind and value of an item of a dict whose class is not known (yet). */
interface LooseItem {
  readonly key: number;
  readonly kind: number;
  readonly value: number;
}

const encoder = new TextEncoder();
const FIRST_BYTES = FIRST_TEXTS.map((text) => encoder.encode(text));

/** Memory of a loose item, as an object in a map. */
const LOOSE_BYTES = 150;
const POOL_BYTES = 200;

const STRING = tagOf(Kind.string, 0);

/** Id of the string of a tag; above all ids for another value. */
const keyOf = (tag: number): number => (tag ^ STRING) >>> 0;

/** The number or the id at `at`. */
function numberOrId({ tags, numbers }: Values, at: number): number {
  const tag = tags[at] as number;
  return isNumber(kindOf(tag)) ? (numbers[at] as number) : idOf(tag);
}

/** Whether a value is a number other than an address in the upper half of 64 bits. */
const isAmount = (kind: number): boolean => kind === Kind.int || kind === Kind.float;

/**
 * Turns the dicts and lists of a pickle into rows of columns. The first key that only one class of dict has determines
 * the class. A list is stored as runs of rows, or, if it contains frames, as a stack.
 */
export class SnapshotBuilder implements PickleBuilder {
  readonly strings: StringTable;
  readonly stacks: StackTable;
  /** "a:b" by number, deduplicated. */
  readonly poolNames = ["0:0"];
  readonly runs: Runs;
  readonly dicts: Containers;
  readonly lists: Containers;
  readonly traces: TraceRows;
  /** Rows by class. */
  readonly rows: readonly (Rows | undefined)[];
  readonly #pools = new Map<string, number>();
  /** Items of dicts without a class, by dict id. */
  readonly #loose = new Map<number, LooseItem[]>();
  readonly #open: OpenStack;
  readonly #budget: Budget;
  /** A frame got other items after it may have been in a stack. */
  #framesChanged = false;

  constructor(budget: Budget) {
    this.#budget = budget;
    this.strings = new StringTable(budget, FIRST_BYTES);
    this.stacks = new StackTable(this.strings, budget);
    this.#open = new OpenStack(this.stacks);
    this.runs = new Runs(budget);
    this.dicts = new Containers(false, budget);
    this.lists = new Containers(true, budget);
    this.traces = new TraceRows(budget);
    this.rows = Array.from({ length: Class.lists }, (_, kind) => {
      const width = WIDTHS[kind];
      return width === undefined ? undefined : new Rows(width, budget);
    });
  }

  string(bytes: Uint8Array, from: number, length: number): number {
    return this.strings.intern(bytes, from, length);
  }

  dict(): number {
    return this.dicts.add();
  }

  list(): number {
    return this.lists.add();
  }

  setItems(dict: number, items: Values, from: number, to: number): void {
    const { tags } = items;
    let own = this.dicts.classOf(dict);
    if (own === Class.frame) this.#framesChanged = true;
    else if (own === Class.empty || own === Class.other) {
      let found: number = Class.empty;
      for (let i = from; i < to && found === 0; i += 2) {
        const key = keyOf(tags[i] as number);
        if (key < KEY_COUNT) found = CLASS_OF_KEY[key] as number;
      }
      if (found === Class.empty) {
        this.#keepLoose(dict, items, from, to);
        return;
      }
      this.#become(dict, found);
      own = found;
    }
    const row = this.dicts.head(dict);
    if (own === Class.trace) this.#setTrace(row, items, from, to);
    else if (own === Class.frame) this.#setFrame(dict, row, items, from, to);
    else {
      const fields = FIELDS[own];
      for (let i = from; i < to; i += 2) {
        const rule = fields?.get(keyOf(tags[i] as number));
        if (rule === undefined) continue;
        const kind = kindOf(tags[i + 1] as number);
        this.#setField(own, row, rule, kind, numberOrId(items, i + 1));
      }
    }
  }

  append(list: number, { tags }: Values, from: number, to: number): number {
    const before = this.lists.classOf(list);
    let own = before;
    for (let i = from; i < to; i++) {
      const tag = tags[i] as number;
      const kind = kindOf(tag);
      const value = idOf(tag);
      const item = kind === Kind.dict ? this.dicts.classOf(value) : kind === Kind.list ? Class.lists : Class.other;
      if (item <= Class.other || (own !== Class.empty && own !== item)) {
        if (this.#open.list === list) this.#closeStack();
        this.lists.set(list, Class.other, 0);
        return -1;
      }
      if (item === Class.frame) {
        if (this.#open.list !== list) this.#openStack(list, own);
        own = Class.frame;
        i = this.#open.push(tags, i, to, this.dicts) - 1;
        continue;
      }
      const first = own === Class.empty;
      const run = this.runs.add(
        first ? NO_RUN : this.lists.tail(list),
        item === Class.lists ? value : this.dicts.head(value),
      );
      if (first) this.lists.set(list, item, run);
      own = item;
      this.lists.setTail(list, run);
    }
    if (before !== Class.empty || own !== Class.frame) return -1;
    this.#closeStack();
    return this.lists.head(list);
  }

  repeat(list: number, stack: number): boolean {
    if (this.#framesChanged || this.lists.classOf(list) !== Class.empty) return false;
    this.lists.set(list, Class.frame, stack);
    return true;
  }

  tuple(items: Values, from: number, to: number): number {
    const { tags, numbers } = items;
    if (to - from === 2 && kindOf(tags[from] as number) === Kind.int && kindOf(tags[from + 1] as number) === Kind.int) {
      return tagOf(Kind.pool, this.#pool(numbers[from] as number, numbers[from + 1] as number));
    }
    // A tuple of frames is treated like a list.
    const list = this.lists.add();
    this.append(list, items, from, to);
    return tagOf(Kind.list, list);
  }

  /** Number of a memory pool; the allocator's own, (0, 0), has 0. */
  #pool(first: number, second: number): number {
    if (first === 0 && second === 0) return 0;
    const name = `${first}:${second}`;
    let number = this.#pools.get(name);
    if (number === undefined) {
      this.#budget.charge(POOL_BYTES);
      number = this.poolNames.push(name) - 1;
      this.#pools.set(name, number);
    }
    return number;
  }

  #openStack(list: number, own: number): void {
    if (this.#open.list >= 0) this.#closeStack();
    this.#open.open(list, own === Class.frame ? this.lists.head(list) : EMPTY_STACK);
    this.lists.set(list, Class.frame, EMPTY_STACK);
  }

  #closeStack(): void {
    const { list } = this.#open;
    this.lists.set(list, Class.frame, this.#open.close());
  }

  /** The stack of a list of frames, or {@link NO_STACK} for any other value. */
  #stackOf(kind: number, value: number): number {
    if (kind !== Kind.list) return NO_STACK;
    if (this.#open.list === value) this.#closeStack();
    const own = this.lists.classOf(value);
    return own === Class.frame ? this.lists.head(value) : own === Class.empty ? EMPTY_STACK : NO_STACK;
  }

  #keepLoose(dict: number, items: Values, from: number, to: number): void {
    if (from === to) return;
    this.#budget.charge((LOOSE_BYTES * (to - from)) / 2);
    this.dicts.set(dict, Class.other, 0);
    const kept = this.#loose.get(dict) ?? [];
    for (let i = from; i < to; i += 2) {
      const key = keyOf(items.tags[i] as number);
      if (key > MAX_ID) continue;
      kept.push({ key, kind: kindOf(items.tags[i + 1] as number), value: numberOrId(items, i + 1) });
    }
    this.#loose.set(dict, kept);
  }

  /** Assigns a dict its class and its row, and moves its earlier items there. */
  #become(dict: number, found: number): void {
    const items = this.#loose.get(dict);
    if (found === Class.trace) this.dicts.set(dict, found, this.traces.add());
    else if (found === Class.frame) this.dicts.set(dict, found, this.stacks.frame(0, 0, 0));
    else this.dicts.set(dict, found, this.rows[found]?.add() ?? 0);
    if (items === undefined) return;
    this.#loose.delete(dict);
    const tags = new Int32Array(2 * items.length);
    const numbers = new Float64Array(2 * items.length);
    for (const [i, { key, kind, value }] of items.entries()) {
      tags[2 * i] = tagOf(Kind.string, key);
      tags[2 * i + 1] = tagOf(kind, isNumber(kind) ? 0 : value);
      numbers[2 * i + 1] = value;
    }
    this.setItems(dict, { tags, numbers }, 0, tags.length);
  }

  #setTrace(row: number, { tags, numbers }: Values, from: number, to: number): void {
    const page = this.traces.page(row);
    const at = this.traces.place(row);
    for (let i = from; i < to; i += 2) {
      const tag = tags[i + 1] as number;
      const kind = kindOf(tag);
      switch (keyOf(tags[i] as number)) {
        case Key.action:
          page.action[at] = kind === Kind.string ? actionCode(idOf(tag)) : 0;
          break;
        case Key.addr:
          if (kind === Kind.int || kind === Kind.upper) page.addr[at] = numbers[i + 1] as number;
          break;
        case Key.device_free:
          // In an `oom` entry, which has no address: free bytes of the device.
          if (kind === Kind.int) page.addr[at] = numbers[i + 1] as number;
          break;
        case Key.size:
          if (isAmount(kind)) page.size[at] = numbers[i + 1] as number;
          break;
        case Key.stream:
          if (kind === Kind.int || kind === Kind.upper) page.stream[at] = numbers[i + 1] as number;
          break;
        case Key.time_us:
          if (isAmount(kind)) page.time[at] = numbers[i + 1] as number;
          break;
        case Key.frames:
          page.stack[at] = this.#stackOf(kind, idOf(tag));
          break;
        case Key.pool_id:
          if (kind === Kind.pool) page.pool[at] = idOf(tag);
          break;
        default:
      }
    }
  }

  #setFrame(dict: number, frame: number, { tags, numbers }: Values, from: number, to: number): void {
    let { file, name, line } = this.stacks.parts(frame);
    for (let i = from; i < to; i += 2) {
      const key = keyOf(tags[i] as number);
      const tag = tags[i + 1] as number;
      const number = numbers[i + 1] as number;
      if (key === Key.filename && kindOf(tag) === Kind.string) file = idOf(tag);
      else if (key === Key.name && kindOf(tag) === Kind.string) name = idOf(tag);
      else if (key === Key.line && kindOf(tag) === Kind.int && number > 0 && number < 2 ** 32) line = number;
    }
    this.dicts.set(dict, Class.frame, this.stacks.frame(file, name, line));
  }

  #setField(own: number, row: number, rule: FieldRule, kind: number, value: number): void {
    const rows = this.rows[own];
    if (rule.value === "state") rows?.set(row, rule.field, kind === Kind.string ? stateCode(value) : 0);
    else if (rule.value === "stack") rows?.set(row, rule.field, this.#stackOf(kind, value));
    else if (VALUE_KINDS[rule.value].includes(kind)) rows?.set(row, rule.field, value);
  }
}
