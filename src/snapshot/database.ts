import { invalidInput } from "../core/errors.ts";
import { assemble } from "./columns/assemble.ts";
import { SnapshotBuilder } from "./columns/builder.ts";
import type { TorchSnapshot } from "./model.ts";
import { Budget } from "./pickle/budget.ts";
import type { PickleResult as Value } from "./pickle/machine.ts";
import { idOf, Kind, tagOf, type Values } from "./pickle/values.ts";

/** A cell of a database; anything but numbers and strings is unknown. */
type Cell = number | string | Uint8Array | bigint | null;
/** Rows of one query, one after the other, as arrays in the order of the selected columns. */
export type SnapshotRows = (sql: string) => Iterable<readonly Cell[]>;

/** The table that only a snapshot has. */
const TRACE_TABLE = "device_traces";
/** Stacks whose text is kept, because most entries repeat one. */
const MAX_STACKS = 100_000;
/** Texts that are kept to be looked up by their characters. */
const MAX_TEXTS = 1000;
/** More than any machine has. */
const MAX_DEVICE = 1023;

const value = (kind: number, id: number): Value => ({ tag: tagOf(kind, id), number: 0 });
const numberValue = (kind: number, number: number): Value => ({ tag: tagOf(kind, 0), number });
const NONE = value(Kind.none, 0);

/** The columns of a table, each by any of its names, with the key that the pickled snapshot has for it. */
interface TableRule {
  readonly name: string;
  readonly needed: readonly string[];
  readonly columns: Readonly<Record<string, readonly string[]>>;
}
const DEVICE = ["device", "device_id", "device_index"];
const TRACES: TableRule = {
  name: TRACE_TABLE,
  needed: ["action", "size"],
  columns: {
    action: ["action"],
    addr: ["addr", "address"],
    size: ["size"],
    stream: ["stream"],
    time_us: ["time_us"],
    device_free: ["device_free"],
    frames: ["frames"],
  },
};
const SEGMENTS: TableRule = {
  name: "segments",
  needed: ["total_size"],
  columns: {
    address: ["address", "addr"],
    total_size: ["total_size", "size"],
    stream: ["stream"],
    segment_type: ["segment_type", "type"],
    is_expandable: ["is_expandable"],
    frames: ["frames"],
  },
};
const BLOCKS: TableRule = {
  name: "blocks",
  needed: ["size", "state"],
  columns: {
    address: ["address", "addr"],
    size: ["size"],
    requested_size: ["requested_size"],
    state: ["state"],
    frames: ["frames"],
  },
};

/** Names the columns of a table. A view of that name could compute rows without end. */
const columnsOf = (table: string) =>
  `SELECT name FROM pragma_table_info('${table}') WHERE EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '${table}')`;

const valuesOf = (values: readonly Value[]): Values => ({
  tags: Int32Array.from(values, ({ tag }) => tag),
  numbers: Float64Array.from(values, ({ number }) => number),
});

/** Puts the rows of a database into a builder, as the values of a pickled snapshot. */
class DatabaseFeed {
  readonly #builder: SnapshotBuilder;
  readonly #rows: SnapshotRows;
  readonly #where: string;
  readonly #encoder = new TextEncoder();
  readonly #stacks = new Map<string, Value>();
  readonly #texts = new Map<string, Value>();

  constructor(builder: SnapshotBuilder, rows: SnapshotRows, where: string) {
    this.#builder = builder;
    this.#rows = rows;
    this.#where = where;
  }

  snapshot(): Value {
    return this.#dict([
      ["segments", this.#segments()],
      ["device_traces", this.#traces()],
    ]);
  }

  /** Most texts are keys, which every row repeats. */
  #text(text: string): Value {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const bytes = this.#encoder.encode(text);
    const added = value(Kind.string, this.#builder.string(bytes, 0, bytes.length));
    if (this.#texts.size < MAX_TEXTS) this.#texts.set(text, added);
    return added;
  }

  #list(): Value {
    return value(Kind.list, this.#builder.list());
  }

  #append(list: Value, item: Value): void {
    this.#builder.append(idOf(list.tag), valuesOf([item]), 0, 1);
  }

  #dict(items: readonly (readonly [string, Value])[]): Value {
    const dict = this.#builder.dict();
    const flat = items.flatMap(([key, value]) => [this.#text(key), value]);
    this.#builder.setItems(dict, valuesOf(flat), 0, flat.length);
    return value(Kind.dict, dict);
  }

  #cell(key: string, cell: Cell | undefined): Value {
    if (key === "frames") return typeof cell === "string" ? this.#frames(cell) : NONE;
    if (typeof cell === "string") return this.#text(cell);
    if (typeof cell !== "number") return NONE;
    if (key === "is_expandable") return value(Kind.bool, cell === 0 ? 0 : 1);
    return numberValue(Number.isInteger(cell) ? Kind.int : Kind.float, cell);
  }

  /** The stack of a JSON text; none for any other text. */
  #frames(text: string): Value {
    const known = this.#stacks.get(text);
    if (known !== undefined) return known;
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      return NONE;
    }
    if (!Array.isArray(parsed)) return NONE;
    const list = this.#list();
    for (const frame of parsed) {
      if (typeof frame !== "object" || frame === null) continue;
      const { filename, name, line } = frame as Readonly<Record<string, unknown>>;
      if (typeof filename !== "string") continue;
      const items: [string, Value][] = [["filename", this.#text(filename)]];
      if (typeof name === "string") items.push(["name", this.#text(name)]);
      if (typeof line === "number") items.push(["line", numberValue(Kind.int, line)]);
      this.#append(list, this.#dict(items));
    }
    if (this.#stacks.size < MAX_STACKS) this.#stacks.set(text, list);
    return list;
  }

  /** Every row of a table as a dict, with the values of further columns. */
  *#dicts(
    { name, needed, columns }: TableRule,
    more: readonly (readonly string[])[],
    items: (cells: readonly Cell[]) => readonly (readonly [string, Value])[] = () => [],
  ): Generator<{ readonly dict: Value; readonly cells: readonly Cell[] }> {
    const present = new Set([...this.#rows(columnsOf(name))].map(([one]) => String(one)));
    const absent = needed.filter((key) => !columns[key]?.some((column) => present.has(column)));
    if (absent.length > 0) {
      throw invalidInput(
        "SNAPSHOT_SHAPE",
        `not a memory snapshot: the table ${name} ${present.size === 0 ? "is missing" : `lacks ${absent.join(", ")}`}`,
        this.#where,
        "Expected the tables device_traces, blocks and segments of PyTorch's _dump_snapshot_sqlite.",
      );
    }
    if (present.size > 0) present.add("rowid");
    const select = (names: readonly string[]) => names.find((column) => present.has(column)) ?? "NULL";
    const keys = Object.keys(columns).filter((key) => select(columns[key] ?? []) !== "NULL");
    const fields = [...more.map(select), ...keys.map((key) => select(columns[key] ?? []))];
    for (const cells of this.#rows(`SELECT ${fields.join(", ")} FROM ${name} ORDER BY rowid`)) {
      const own = keys.map((key, i) => [key, this.#cell(key, cells[more.length + i])] as const);
      yield { dict: this.#dict([...own, ...items(cells)]), cells };
    }
  }

  #segments(): Value {
    const blocks = new Map<Cell, Value>();
    for (const { dict, cells } of this.#dicts(BLOCKS, [["segment_id"]])) {
      const [segment = null] = cells;
      const list = blocks.get(segment) ?? this.#list();
      blocks.set(segment, list);
      this.#append(list, dict);
    }
    const segments = this.#list();
    const own = this.#dicts(SEGMENTS, [["id", "segment_id", "rowid"], DEVICE], ([id = null, device = null]) => [
      ["device", numberValue(Kind.int, typeof device === "number" ? device : 0)],
      ["blocks", blocks.get(id) ?? this.#list()],
    ]);
    for (const { dict } of own) this.#append(segments, dict);
    return segments;
  }

  /** One list for each device, in the order of their numbers. */
  #traces(): Value {
    const traces: Value[] = [];
    for (const { dict, cells } of this.#dicts(TRACES, [DEVICE])) {
      const device = typeof cells[0] === "number" ? cells[0] : 0;
      if (!Number.isInteger(device) || device < 0 || device > MAX_DEVICE) {
        throw invalidInput("SNAPSHOT_SHAPE", `${device} is not the number of a device`, this.#where);
      }
      while (traces.length <= device) traces.push(this.#list());
      this.#append(traces[device] as Value, dict);
    }
    const all = this.#list();
    for (const trace of traces) this.#append(all, trace);
    return all;
  }
}

/**
 * Reads PyTorch's memory snapshot from the rows of a SQLite database (`_dump_snapshot_sqlite`), by the tables that its
 * proposal published (https://github.com/pytorch/pytorch/pull/178670): `segments`, `blocks` that join them by
 * `segment_id`, and `device_traces`. Columns that are missing are unknown.
 * @param bytes size of the database
 * @throws GateError SNAPSHOT_SHAPE, SNAPSHOT_TOO_COSTLY, NEGATIVE_BYTES
 */
export function readSnapshotTables(rows: SnapshotRows, bytes: number, where: string): TorchSnapshot {
  const budget = new Budget(bytes, where);
  const builder = new SnapshotBuilder(budget);
  const root = new DatabaseFeed(builder, rows, where).snapshot();
  return assemble(builder, root, budget, where);
}
