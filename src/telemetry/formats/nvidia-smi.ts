import { invalidInput } from "../../core/errors.ts";
import { GIB, KIB, MIB } from "../../core/units.ts";
import { checkRowLength, isMissing, parseNumber, rejectImpossible } from "./csv/cells.ts";
import { type CsvRow, scanCsv } from "./csv/scan.ts";
import { type ByteColumn, finishTables, TableBuilder } from "./csv/table-builder.ts";
import { TimeStamps } from "./csv/timestamps.ts";
import type { CsvRecording } from "./generic-csv.ts";

/** `nvidia-smi --query-gpu` fields; `memory.reserved` is the driver's own memory. */
const FIELDS: ReadonlyMap<string, ByteColumn> = new Map([
  ["memory.used", { column: "used", highwater: false }],
  ["memory.total", { column: "total", highwater: false }],
  ["memory.free", { column: "free", highwater: false }],
  ["memory.reserved", { column: "driver", highwater: false }],
]);
/** Columns that identify a GPU, best first. */
const IDENTITIES = ["index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "serial", "gpu_serial"] as const;
const UNITS: ReadonlyMap<string, number> = new Map([
  ["b", 1],
  ["kib", KIB],
  ["mib", MIB],
  ["gib", GIB],
]);
const HEADER_FIELD = /^([a-z0-9_.]+)\s*(?:\[([a-z%]+)\])?$/i;
const VALUE_WITH_UNIT = /^([+-]?[\d.]+)\s*([a-z]+)$/i;
const CALENDAR = /^(\d{4})\/(\d\d)\/(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?$/;

const fieldName = (field: string) => HEADER_FIELD.exec(field.trim())?.[1]?.toLowerCase() ?? "";

/** True for the header of `nvidia-smi --query-gpu=…memory.used… --format=csv`. */
export function isNvidiaSmiHeader(header: readonly string[]): boolean {
  return header.some((field) => fieldName(field) === "memory.used");
}

interface CellColumn extends ByteColumn {
  readonly cell: number;
  readonly header: string;
  /** Bytes per unit of a bare number in this column. */
  readonly unit: number;
}

class NvidiaSmiReader {
  #header: string[] | null = null;
  #cells: CellColumn[] = [];
  #timeCell = -1;
  #identityCell = -1;
  #byIndex = false;
  readonly #builders = new Map<string, TableBuilder>();
  readonly #stamps = new TimeStamps();
  readonly #missing = new Map<string, number>();
  readonly #notes = new Set<string>();
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  row(row: CsvRow): void {
    if (this.#header === null) {
      this.#readHeader(row);
      return;
    }
    // A log that several runs appended to repeats its header.
    if (row.count === this.#header.length && this.#header.every((field, i) => row.text(i) === field)) return;
    checkRowLength(row, this.#header.length, this.#name);
    const builder = this.#builderOf(row);
    builder.time?.push(this.#timeOf(row));
    for (const [i, cell] of this.#cells.entries()) builder.columns[i]!.push(this.#bytesOf(row, cell));
  }

  #readHeader(row: CsvRow): void {
    const header = Array.from({ length: row.count }, (_, i) => row.text(i));
    const names = header.map(fieldName);
    for (const [cell, field] of names.entries()) {
      const column = FIELDS.get(field);
      if (!column) continue;
      const unit = HEADER_FIELD.exec(header[cell]!)?.[2]?.toLowerCase();
      this.#cells.push({ ...column, cell, header: field, unit: UNITS.get(unit ?? "mib") ?? MIB });
    }
    this.#timeCell = names.indexOf("timestamp");
    const identity = IDENTITIES.find((field) => names.includes(field));
    this.#identityCell = identity === undefined ? -1 : names.indexOf(identity);
    this.#byIndex = identity === "index";
    if (identity === undefined) this.#notes.add("no index or uuid column: all rows are read as one GPU");
    this.#header = header;
  }

  #builderOf(row: CsvRow): TableBuilder {
    const identity = this.#identityCell < 0 ? "" : row.text(this.#identityCell);
    let builder = this.#builders.get(identity);
    if (!builder) {
      const index = this.#byIndex && /^\d+$/.test(identity) ? Number(identity) : this.#builders.size;
      builder = new TableBuilder(0, `cuda:${index}`, this.#cells.length, this.#timeCell >= 0, false);
      this.#builders.set(identity, builder);
    }
    return builder;
  }

  #count(column: string): number {
    this.#missing.set(column, (this.#missing.get(column) ?? 0) + 1);
    return Number.NaN;
  }

  #timeOf(row: CsvRow): number {
    const text = row.text(this.#timeCell);
    if (isMissing(text)) return this.#count("timestamp");
    const date = CALENDAR.exec(text);
    if (date) {
      // nvidia-smi prints local time without a zone. Only differences matter, so it is read as UTC.
      this.#notes.add("timestamps have no time zone and are read as UTC");
      const [year, month, day, hour, minute, second] = date.slice(1, 7).map(Number);
      const seconds = Date.UTC(year!, month! - 1, day, hour, minute, second) / 1000;
      const nanos = Number((date[7] ?? "").padEnd(9, "0"));
      return this.#stamps.split(seconds, nanos);
    }
    return this.#stamps.seconds(
      parseNumber(text, row.line, "timestamp", this.#name),
      row.line,
      "timestamp",
      this.#name,
    );
  }

  #bytesOf(row: CsvRow, { cell, header, unit }: CellColumn): number {
    const text = row.text(cell);
    if (isMissing(text)) return this.#count(header);
    const withUnit = VALUE_WITH_UNIT.exec(text);
    const factor = withUnit ? UNITS.get(withUnit[2]!.toLowerCase()) : unit;
    // An unknown unit falls through to the number parser, whose error names line and column.
    const value = parseNumber(withUnit && factor !== undefined ? withUnit[1]! : text, row.line, header, this.#name);
    const bytes = Math.round(value * (factor ?? 1));
    rejectImpossible(bytes, row.line, header, this.#name);
    return bytes;
  }

  finish(): CsvRecording {
    if (this.#builders.size === 0) {
      throw invalidInput(
        "INPUT_EMPTY",
        "the log has a header and no rows",
        this.#name,
        "Was nvidia-smi stopped immediately?",
      );
    }
    const { tables, peaks } = finishTables(this.#builders.values(), this.#cells);
    const recording = {
      epochNs: this.#stamps.epochNs,
      tables: tables.sort((a, b) => (a.device < b.device ? -1 : 1)),
      peaks,
      marks: [],
      events: null,
      worldSize: null,
      missing: Object.fromEntries(this.#missing),
      info: null,
    };
    return { recording, notes: [...this.#notes] };
  }
}

/**
 * Reads a log of `nvidia-smi --query-gpu=… --format=csv[,nounits]`: one table per GPU, identified by `index`, else
 * `uuid` or the bus id in order of appearance. A unit in the cell overrides one in the header. A bare number is MiB.
 * @throws GateError INPUT_EMPTY, INPUT_TRUNCATED, CSV_ROW_LENGTH, CSV_NOT_A_NUMBER, NEGATIVE_BYTES, TIMESTAMP_INVALID
 */
export function parseNvidiaSmiCsv(chunks: Iterable<Uint8Array>, delimiter: string, name: string): CsvRecording {
  const reader = new NvidiaSmiReader(name);
  scanCsv(chunks, delimiter, name, (row) => reader.row(row));
  return reader.finish();
}
