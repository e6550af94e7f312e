import { invalidInput } from "../../core/errors.ts";
import { GIB, KIB, MIB } from "../../core/units.ts";
import { checkTableCount } from "../../telemetry/recording/input-file.ts";
import type { SampleTable } from "../../telemetry/recording/model.ts";
import { checkRowLength, isMissing, parseNumber, rejectImpossible } from "./csv/cells.ts";
import { CLOCKS, calendarTime, clockUnit, NO_ZONE, STEP_COUNTERS } from "./csv/clocks.ts";
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
/** Names of other loggers: `mem_used_mb`, `memory_used`, `gpu_memory_total_gib`, `used_memory`. */
const LOGGED =
  /^(?:gpu_)?(?:mem(?:ory)?_(used|total|free)|(used|total|free)_(?:gpu_)?mem(?:ory)?)(?:_(b|bytes|ki?b|mi?b|gi?b))?$/;
/** Columns that identify a GPU, best first. */
const INDICES = ["index", "gpu_index", "gpu_id", "device_index", "device_id"] as const;
const IDENTITIES = [
  ...INDICES,
  "uuid",
  "gpu_uuid",
  "pci.bus_id",
  "gpu_bus_id",
  "serial",
  "gpu_serial",
  "gpu",
  "device",
] as const;
/** GPU tools mean powers of two by "MB", as the driver's own log does by "MiB". */
const UNITS: ReadonlyMap<string, number> = new Map([
  ["b", 1],
  ["bytes", 1],
  ["kb", KIB],
  ["kib", KIB],
  ["mb", MIB],
  ["mib", MIB],
  ["gb", GIB],
  ["gib", GIB],
]);
/** More MiB than any device has (16 TiB): such numbers without a unit are bytes. */
const MAX_MIB = 2 ** 24;
const HEADER_FIELD = /^([a-z0-9_.]+)\s*(?:[[(]([a-z%]+)[\])])?$/i;
const VALUE_WITH_UNIT = /^([+-]?[\d.]+)\s*([a-z]+)$/i;

const fieldName = (field: string) => HEADER_FIELD.exec(field.trim())?.[1]?.toLowerCase() ?? "";

/** True for the header of `nvidia-smi --query-gpu=…memory.used… --format=csv`. */
export function isNvidiaSmiHeader(header: readonly string[]): boolean {
  return header.some((field) => fieldName(field) === "memory.used");
}

/** True for the header of a GPU log with other names than nvidia-smi's, such as `elapsed_sec,mem_used_mb`. */
export function isGpuLogHeader(header: readonly string[]): boolean {
  return header.some((field) => LOGGED.exec(fieldName(field))?.slice(1, 3).includes("used"));
}

interface CellColumn extends ByteColumn {
  readonly cell: number;
  readonly header: string;
  /** Bytes per unit of a bare number in this column; null where neither name nor log has a unit. */
  readonly unit: number | null;
}

/** The column of a header field: nvidia-smi's, in MiB, or one whose name contains its unit. */
function columnOf(name: string, unit: string | undefined): (ByteColumn & { readonly unit: number | null }) | null {
  const own = FIELDS.get(name);
  const logged = LOGGED.exec(name);
  const stated = UNITS.get(unit ?? logged?.[3] ?? (own ? "mib" : "")) ?? null;
  if (own) return { ...own, unit: stated ?? MIB };
  const column = (logged?.[1] ?? logged?.[2]) as "used" | "total" | "free" | undefined;
  return column === undefined ? null : { column, highwater: false, unit: stated };
}

class NvidiaSmiReader {
  #header: string[] | null = null;
  #cells: CellColumn[] = [];
  #timeCell = -1;
  #timeName = "";
  #stepCell = -1;
  #stepName = "";
  /** Largest bare number of the columns without a unit. */
  #largest = 0;
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
    builder.steps?.push(this.#stepOf(row));
    for (const [i, cell] of this.#cells.entries()) builder.columns[i]!.push(this.#bytesOf(row, cell));
  }

  #readHeader(row: CsvRow): void {
    const header = Array.from({ length: row.count }, (_, i) => row.text(i));
    const names = header.map(fieldName);
    for (const [cell, field] of names.entries()) {
      const column = columnOf(field, HEADER_FIELD.exec(header[cell]!.trim())?.[2]?.toLowerCase());
      if (column === null || this.#cells.some((known) => known.column === column.column)) continue;
      this.#cells.push({ ...column, cell, header: field });
    }
    this.#timeName = [...CLOCKS.keys()].find((field) => names.includes(field)) ?? "";
    this.#timeCell = this.#timeName === "" ? -1 : names.indexOf(this.#timeName);
    this.#stepName = STEP_COUNTERS.find((field) => names.includes(field)) ?? "step";
    this.#stepCell = names.indexOf(this.#stepName);
    const identity = IDENTITIES.find((field) => names.includes(field));
    this.#identityCell = identity === undefined ? -1 : names.indexOf(identity);
    this.#byIndex = INDICES.some((field) => field === identity) || identity === "gpu" || identity === "device";
    if (identity === undefined) this.#notes.add("no index or uuid column: all rows are read as one GPU");
    this.#header = header;
  }

  #builderOf(row: CsvRow): TableBuilder {
    const identity = this.#identityCell < 0 ? "" : row.text(this.#identityCell);
    let builder = this.#builders.get(identity);
    if (!builder) {
      const index = this.#byIndex ? /^(?:cuda:|gpu)?(\d{1,6})$/i.exec(identity)?.[1] : undefined;
      const device = `cuda:${index === undefined ? this.#builders.size : Number(index)}`;
      builder = new TableBuilder(0, device, this.#cells.length, this.#timeCell >= 0, this.#stepCell >= 0);
      this.#builders.set(identity, builder);
      checkTableCount(this.#builders.size, this.#name);
    }
    return builder;
  }

  #count(column: string): number {
    this.#missing.set(column, (this.#missing.get(column) ?? 0) + 1);
    return Number.NaN;
  }

  #timeOf(row: CsvRow): number {
    const text = row.text(this.#timeCell);
    if (isMissing(text)) return this.#count(this.#timeName);
    const date = calendarTime(text);
    if (date !== null) {
      if (!date.zoned) this.#notes.add(NO_ZONE);
      return this.#stamps.split(date.seconds, date.nanos);
    }
    const value = parseNumber(text, row.line, this.#timeName, this.#name);
    const unit = clockUnit(this.#timeName, value);
    return this.#stamps.seconds(value * unit, row.line, this.#timeName, this.#name);
  }

  #stepOf(row: CsvRow): number {
    const text = row.text(this.#stepCell);
    return isMissing(text) ? this.#count(this.#stepName) : parseNumber(text, row.line, this.#stepName, this.#name);
  }

  #bytesOf(row: CsvRow, { cell, header, unit }: CellColumn): number {
    const text = row.text(cell);
    if (isMissing(text)) return this.#count(header);
    const withUnit = VALUE_WITH_UNIT.exec(text);
    const factor = withUnit ? UNITS.get(withUnit[2]!.toLowerCase()) : unit;
    // An unknown unit falls through to the number parser, whose error names line and column.
    const value = parseNumber(withUnit && factor !== undefined ? withUnit[1]! : text, row.line, header, this.#name);
    const bytes = unit === null && !withUnit ? value : Math.round(value * (factor ?? 1));
    rejectImpossible(bytes, row.line, header, this.#name);
    if (unit !== null) return bytes;
    // Until all are known, such a column is in MiB.
    if (withUnit) return bytes / MIB;
    if (value > this.#largest) this.#largest = value;
    return value;
  }

  /** Bytes in the columns whose names have no unit: MiB, as in nvidia-smi's log, unless no device has that many. */
  #scaleUnstated(tables: readonly SampleTable[]): void {
    const unstated = this.#cells.filter(({ unit }) => unit === null);
    if (unstated.length === 0) return;
    const factor = this.#largest > MAX_MIB ? 1 : MIB;
    for (const { column } of unstated) {
      for (const table of tables) {
        const values = table.columns[column];
        for (let i = 0; i < (values?.length ?? 0); i++) values![i] = Math.round(values![i]! * factor);
      }
    }
    const names = unstated.map(({ header }) => header).join(", ");
    this.#notes.add(`${names} without a unit: read as ${factor === 1 ? "bytes" : "MiB"}`);
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
    this.#scaleUnstated(tables);
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
 * Reads a log of `nvidia-smi --query-gpu=… --format=csv[,nounits]`, or a GPU log whose names contain their units: one
 * table per GPU, identified by `index`, else `uuid` or the bus id in order of appearance. A unit in the cell overrides
 * one in the header. A bare number is MiB, in a log of other names bytes if no device has that many MiB.
 * @throws GateError INPUT_EMPTY, INPUT_TRUNCATED, CSV_ROW_LENGTH, CSV_NOT_A_NUMBER, NEGATIVE_BYTES, TIMESTAMP_INVALID
 */
export function parseNvidiaSmiCsv(chunks: Iterable<Uint8Array>, delimiter: string, name: string): CsvRecording {
  const reader = new NvidiaSmiReader(name);
  scanCsv(chunks, delimiter, name, (row) => reader.row(row));
  return reader.finish();
}
