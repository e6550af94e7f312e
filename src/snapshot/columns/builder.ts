import type { Budget } from "../pickle/budget.ts";
import { Kind, type PickleBuilder } from "../pickle/values.ts";
import { Class, Containers } from "./containers.ts";
import { CLASS_OF_KEY, FIELDS, type FieldRule, WIDTHS } from "./fields.ts";
import { actionCode, FIRST_TEXTS, KEY_COUNT, Key, stateCode } from "./keys.ts";
import { PoolTable } from "./pools.ts";
import { Rows } from "./rows.ts";
import { NO_RUN, Runs } from "./runs.ts";
import { EMPTY_STACK, NO_STACK, OpenStack, StackTable } from "./stacks.ts";
import { StringTable } from "./strings.ts";
import { TraceRows } from "./trace-rows.ts";

/** Key, kind and value of an item of a dict whose class is not known (yet). */
export interface LooseItem {
  readonly key: number;
  readonly kind: number;
  readonly value: number;
}

const encoder = new TextEncoder();
const FIRST_BYTES = FIRST_TEXTS.map((text) => encoder.encode(text));

/** Memory of a loose item, as an object in a map. */
const LOOSE_BYTES = 150;

const isNumber = (kind: number): boolean => kind === Kind.int || kind === Kind.float;

/**
 * Turns the dicts and lists of a pickle into rows of columns. The first key that only one class of dict has determines
 * the class. A list is stored as runs of rows, or, if it contains frames, as a stack.
 */
export class SnapshotBuilder implements PickleBuilder {
  readonly strings: StringTable;
  readonly stacks: StackTable;
  readonly pools = new PoolTable();
  readonly runs: Runs;
  readonly dicts: Containers;
  readonly lists: Containers;
  readonly traces: TraceRows;
  /** Rows by class. */
  readonly rows: readonly (Rows | undefined)[];
  /** Items of dicts without a class, by dict id. */
  readonly loose = new Map<number, LooseItem[]>();
  readonly #open: OpenStack;
  readonly #budget: Budget;

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

  setItems(dict: number, kinds: Uint8Array, values: Float64Array, from: number, to: number): void {
    let own = this.dicts.classOf(dict);
    if (own === Class.empty || own === Class.other) {
      let found: number = Class.empty;
      for (let i = from; i < to && found === 0; i += 2) {
        const key = values[i] as number;
        if (kinds[i] === Kind.string && key < KEY_COUNT) found = CLASS_OF_KEY[key] as number;
      }
      if (found === Class.empty) {
        this.#keepLoose(dict, kinds, values, from, to);
        return;
      }
      this.#become(dict, found);
      own = found;
    }
    const row = this.dicts.head(dict);
    if (own === Class.trace) this.#setTrace(row, kinds, values, from, to);
    else if (own === Class.frame) this.#setFrame(dict, row, kinds, values, from, to);
    else {
      const fields = FIELDS[own];
      for (let i = from; i < to; i += 2) {
        const rule = kinds[i] === Kind.string ? fields?.get(values[i] as number) : undefined;
        if (rule !== undefined) this.#setField(own, row, rule, kinds[i + 1] as number, values[i + 1] as number);
      }
    }
  }

  append(list: number, kinds: Uint8Array, values: Float64Array, from: number, to: number): void {
    let own = this.lists.classOf(list);
    for (let i = from; i < to; i++) {
      const value = values[i] as number;
      const kind = kinds[i];
      const item = kind === Kind.dict ? this.dicts.classOf(value) : kind === Kind.list ? Class.lists : Class.other;
      if (item <= Class.other || (own !== Class.empty && own !== item)) {
        if (this.#open.list === list) this.#closeStack();
        this.lists.set(list, Class.other, 0);
        return;
      }
      if (item === Class.frame) {
        if (this.#open.list !== list) this.#openStack(list, own);
        own = Class.frame;
        this.#open.push(this.dicts.head(value));
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
  }

  tuple(kinds: Uint8Array, values: Float64Array, from: number, to: number): void {
    const first = values[from] as number;
    const second = values[from + 1] as number;
    if (to - from === 2 && kinds[from] === Kind.int && kinds[from + 1] === Kind.int) {
      values[from] = this.pools.number(first, second, this.#budget);
      kinds[from] = Kind.pool;
      return;
    }
    // A tuple of frames is treated like a list.
    const list = this.lists.add();
    this.append(list, kinds, values, from, to);
    values[from] = list;
    kinds[from] = Kind.list;
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

  #keepLoose(dict: number, kinds: Uint8Array, values: Float64Array, from: number, to: number): void {
    if (from === to) return;
    this.#budget.charge((LOOSE_BYTES * (to - from)) / 2);
    this.dicts.set(dict, Class.other, 0);
    const items = this.loose.get(dict) ?? [];
    for (let i = from; i < to; i += 2) {
      if (kinds[i] !== Kind.string) continue;
      items.push({ key: values[i] as number, kind: kinds[i + 1] as number, value: values[i + 1] as number });
    }
    this.loose.set(dict, items);
  }

  /** Assigns a dict its class and its row, and moves its earlier items there. */
  #become(dict: number, found: number): void {
    const items = this.loose.get(dict);
    if (found === Class.trace) this.dicts.set(dict, found, this.traces.add());
    else if (found === Class.frame) this.dicts.set(dict, found, this.stacks.frame(0, 0, 0));
    else this.dicts.set(dict, found, this.rows[found]?.add() ?? 0);
    if (items === undefined) return;
    this.loose.delete(dict);
    const kinds = new Uint8Array(2 * items.length);
    const values = new Float64Array(2 * items.length);
    for (const [i, { key, kind, value }] of items.entries()) {
      kinds[2 * i] = Kind.string;
      values[2 * i] = key;
      kinds[2 * i + 1] = kind;
      values[2 * i + 1] = value;
    }
    this.setItems(dict, kinds, values, 0, kinds.length);
  }

  #setTrace(row: number, kinds: Uint8Array, values: Float64Array, from: number, to: number): void {
    const page = this.traces.page(row);
    const at = this.traces.place(row);
    for (let i = from; i < to; i += 2) {
      if (kinds[i] !== Kind.string) continue;
      const kind = kinds[i + 1] as number;
      const value = values[i + 1] as number;
      switch (values[i]) {
        case Key.action:
          page.action[at] = kind === Kind.string ? actionCode(value) : 0;
          break;
        case Key.addr:
          if (kind === Kind.int || kind === Kind.upper) page.addr[at] = value;
          break;
        case Key.device_free:
          // In an `oom` entry, which has no address: free bytes of the device.
          if (kind === Kind.int) page.addr[at] = value;
          break;
        case Key.size:
          if (isNumber(kind)) page.size[at] = value;
          break;
        case Key.stream:
          if (kind === Kind.int || kind === Kind.upper) page.stream[at] = value;
          break;
        case Key.time_us:
          if (isNumber(kind)) page.time[at] = value;
          break;
        case Key.frames:
          page.stack[at] = this.#stackOf(kind, value);
          break;
        case Key.pool_id:
          if (kind === Kind.pool) page.pool[at] = value;
          break;
        default:
      }
    }
  }

  #setFrame(dict: number, frame: number, kinds: Uint8Array, values: Float64Array, from: number, to: number): void {
    let { file, name, line } = this.stacks.parts(frame);
    for (let i = from; i < to; i += 2) {
      if (kinds[i] !== Kind.string) continue;
      const kind = kinds[i + 1] as number;
      const value = values[i + 1] as number;
      if (values[i] === Key.filename && kind === Kind.string) file = value;
      else if (values[i] === Key.name && kind === Kind.string) name = value;
      else if (values[i] === Key.line && kind === Kind.int && value > 0 && value < 2 ** 32) line = value;
    }
    this.dicts.set(dict, Class.frame, this.stacks.frame(file, name, line));
  }

  #setField(own: number, row: number, rule: FieldRule, kind: number, value: number): void {
    const rows = this.rows[own];
    switch (rule.value) {
      case "number":
        if (isNumber(kind)) rows?.set(row, rule.field, value);
        break;
      case "address":
        if (kind === Kind.int || kind === Kind.upper) rows?.set(row, rule.field, value);
        break;
      case "truth":
        if (kind === Kind.bool) rows?.set(row, rule.field, value);
        break;
      case "text":
        if (kind === Kind.string) rows?.set(row, rule.field, value);
        break;
      case "state":
        rows?.set(row, rule.field, kind === Kind.string ? stateCode(value) : 0);
        break;
      case "list":
        if (kind === Kind.list) rows?.set(row, rule.field, value);
        break;
      case "dict":
        if (kind === Kind.dict) rows?.set(row, rule.field, value);
        break;
      case "pool":
        if (kind === Kind.pool) rows?.set(row, rule.field, value);
        break;
      case "stack":
        rows?.set(row, rule.field, this.#stackOf(kind, value));
        break;
      default:
        rule.value satisfies never;
    }
  }
}
