import { invalidInput } from "../../core/errors.ts";
import { cutText, oneLine, plural } from "../../core/text.ts";
import { checkTableCount } from "../../telemetry/recording/input-file.ts";
import { METRICS } from "../../telemetry/recording/metrics.ts";
import { COLUMNS, COUNTS, type Column, MAX_RANK, type Recording } from "../../telemetry/recording/model.ts";
import { checkRowLength, isMissing, numberIn, numberOrNull, rejectImpossible } from "./csv/cells.ts";
import { CLOCKS, calendarTime, clockUnit, NO_ZONE, STEP_COUNTERS } from "./csv/clocks.ts";
import { type CsvRow, scanCsv } from "./csv/scan.ts";
import { type ByteColumn, finishTables, TableBuilder } from "./csv/table-builder.ts";
import { TimeStamps } from "./csv/timestamps.ts";
import { outOfOrder } from "./stormlog/events-recording.ts";

const HIGHWATER_SUFFIX = "_highwater";
const BYTE_COLUMNS: ReadonlyMap<string, ByteColumn> = new Map(
  COLUMNS.filter((column) => !COUNTS.has(column)).flatMap((column): [string, ByteColumn][] => [
    [`${column}_bytes`, { column, highwater: false }],
    [`${column}_bytes${HIGHWATER_SUFFIX}`, { column, highwater: true }],
  ]),
);
/** Columns that identify a readable table. The others are optional. */
const MAIN_COLUMNS: ReadonlySet<Column> = new Set<Column>(METRICS);

/** Clocks whose cells must be numbers, best first. Those of other loggers come after them. */
const OWN_CLOCKS = ["timestamp_ns", "time_s"] as const;
const TIME_COLUMNS: readonly string[] = [...OWN_CLOCKS, ...CLOCKS.keys()];
/** Numbers below are times since an unnamed start (1973 as Unix time), so they do not show their unit. */
const MIN_UNIX_S = 1e8;
/** Maximum number of ignored columns that a note names, and of characters of each. */
const MAX_NAMES = 12;
const MAX_NAME = 40;

/** A recording read from CSV, with notes about how it was read. */
export interface CsvRecording {
  readonly recording: Recording;
  readonly notes: readonly string[];
}

/** True when the header names at least one memory column of the generic layout. */
export function isGenericHeader(header: readonly string[]): boolean {
  return header.some((field) => {
    const known = BYTE_COLUMNS.get(field.trim().toLowerCase());
    return known !== undefined && MAIN_COLUMNS.has(known.column);
  });
}

interface CellColumn extends ByteColumn {
  readonly cell: number;
  readonly header: string;
  /** Device of the values when the file has no `device` column. */
  readonly device: string;
  missing: number;
}

class GenericCsvReader {
  #header: string[] | null = null;
  #time: { readonly cell: number; readonly kind: "ns" | "s" | "any"; readonly header: string } | null = null;
  #step: { readonly cell: number; readonly header: string } | null = null;
  #rankCell = -1;
  #deviceCell = -1;
  #cells: CellColumn[] = [];
  /** Without a `device` column: the devices of the columns, and the columns of each. */
  #devices: string[] = [];
  readonly #cellsOf = new Map<string, CellColumn[]>();
  readonly #builders = new Map<string, Map<number, TableBuilder>>();
  readonly #stamps = new TimeStamps();
  readonly #missing = new Map<string, number>();
  #tables = 0;
  /** Header fields that are not read. */
  #ignored: readonly string[] = [];
  /** Texts that are neither times nor step numbers, in columns with names of other loggers. */
  readonly #unreadable = new Map<string, { readonly example: string; count: number }>();
  readonly #notes = new Set<string>();
  #unordered = 0;
  #stepsBack = 0;
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  row(row: CsvRow): void {
    if (this.#header === null) {
      this.#readHeader(row);
      return;
    }
    checkRowLength(row, this.#header.length, this.#name);
    const timeNs = this.#timeOf(row);
    const step = this.#stepOf(row);
    if (this.#deviceCell >= 0) {
      const table = this.#builderOf(row, this.#deviceOf(row));
      this.#lookAtOrder(table, timeNs, step);
      this.#append(row, table, timeNs, step, this.#cells);
      return;
    }
    for (const [i, device] of this.#devices.entries()) {
      const table = this.#builderOf(row, device);
      // The tables of one row have the same order, so one of them is checked.
      if (i === 0) this.#lookAtOrder(table, timeNs, step);
      this.#append(row, table, timeNs, step, this.#columnsOf(device));
    }
  }

  /** Rows of several ranks or devices interleave, so a row is compared with the previous one of its own table. */
  #lookAtOrder(table: TableBuilder, timeNs: number, step: number): void {
    if (timeNs <= table.lastTime) this.#unordered++;
    if (step < table.lastStep) this.#stepsBack++;
    if (!Number.isNaN(timeNs)) table.lastTime = timeNs;
    if (!Number.isNaN(step)) table.lastStep = step;
  }

  #append(row: CsvRow, to: TableBuilder, timeNs: number, step: number, cells: readonly CellColumn[]): void {
    to.time?.push(timeNs);
    to.steps?.push(step);
    for (let i = 0; i < cells.length; i++) {
      const cell = cells[i]!;
      const value = numberIn(row, cell.cell, cell.header, this.#name);
      if (value < 0 || value > Number.MAX_SAFE_INTEGER) rejectImpossible(value, row.line, cell.header, this.#name);
      if (Number.isNaN(value)) cell.missing++;
      to.columns[i]!.push(Number.isInteger(value) ? value : Math.round(value));
    }
  }

  #readHeader(row: CsvRow): void {
    const header = Array.from({ length: row.count }, (_, i) => row.text(i).toLowerCase());
    const seen = new Set<string>();
    for (const [cell, field] of header.entries()) {
      if (seen.has(field) && field !== "") {
        throw invalidInput(
          "CSV_DUPLICATE_COLUMN",
          `the header names "${field}" twice`,
          this.#name,
          "Rename one of them.",
        );
      }
      seen.add(field);
      const bytes = BYTE_COLUMNS.get(field);
      if (bytes) {
        const device = bytes.column === "host" || bytes.column === "rss" ? "host" : "cuda:0";
        this.#cells.push({ ...bytes, cell, header: field, device, missing: 0 });
      }
    }
    const time = TIME_COLUMNS.find((name) => seen.has(name));
    const step = STEP_COUNTERS.find((name) => seen.has(name));
    if (time !== undefined) {
      const kind = time === "timestamp_ns" ? "ns" : time === "time_s" ? "s" : "any";
      this.#time = { cell: header.indexOf(time), kind, header: time };
    }
    if (step !== undefined) this.#step = { cell: header.indexOf(step), header: step };
    this.#rankCell = header.indexOf("rank");
    this.#deviceCell = header.indexOf("device");
    const read = new Set([time, step, "rank", "device", "", ...this.#cells.map((cell) => cell.header)]);
    this.#ignored = header.filter((field) => !read.has(field));
    this.#header = header;
    this.#devices = [...new Set(this.#cells.map((cell) => cell.device))];
    for (const device of this.#devices) {
      this.#cellsOf.set(
        device,
        this.#cells.filter((cell) => cell.device === device),
      );
    }
  }

  #count(column: string): void {
    this.#missing.set(column, (this.#missing.get(column) ?? 0) + 1);
  }

  #optional(row: CsvRow, cell: number, column: string): number {
    const value = numberIn(row, cell, column, this.#name);
    if (Number.isNaN(value)) this.#count(column);
    return value;
  }

  #timeOf(row: CsvRow): number {
    const time = this.#time;
    if (!time) return Number.NaN;
    if (time.kind === "any") return this.#loggedTime(row, time.cell, time.header);
    let timeNs = Number.NaN;
    if (time.kind === "ns") timeNs = this.#stamps.digits(row.bytes, row.starts[time.cell]!, row.ends[time.cell]!);
    if (Number.isNaN(timeNs)) {
      const value = this.#optional(row, time.cell, time.header);
      if (Number.isNaN(value)) return Number.NaN;
      timeNs =
        time.kind === "ns"
          ? this.#stamps.nanoseconds(value, row.line, time.header, this.#name)
          : this.#stamps.seconds(value, row.line, time.header, this.#name);
    }
    return timeNs;
  }

  /** A time in a column of another logger: a calendar time or a number. */
  #loggedTime(row: CsvRow, cell: number, header: string): number {
    const text = row.text(cell);
    const date = calendarTime(text);
    if (date !== null) {
      if (!date.zoned) this.#notes.add(NO_ZONE);
      return this.#stamps.split(date.seconds, date.nanos);
    }
    const value = numberOrNull(text);
    if (value === null || value < 0) return this.#unread(header, text);
    if (Number.isNaN(value)) {
      this.#count(header);
      return value;
    }
    if (CLOCKS.get(header) === null && value < MIN_UNIX_S) this.#notes.add(`${header} without a unit: read as seconds`);
    return this.#stamps.seconds(value * clockUnit(header, value), row.line, header, this.#name);
  }

  #stepOf(row: CsvRow): number {
    if (this.#step === null) return Number.NaN;
    const { cell, header } = this.#step;
    if (header === "step") return this.#optional(row, cell, header);
    const text = row.text(cell);
    const step = numberOrNull(text);
    if (step === null) return this.#unread(header, text);
    if (Number.isNaN(step)) this.#count(header);
    return step;
  }

  #unread(header: string, text: string): number {
    this.#count(header);
    const known = this.#unreadable.get(header);
    if (known === undefined) this.#unreadable.set(header, { example: text.slice(0, MAX_NAME), count: 1 });
    else known.count += 1;
    return Number.NaN;
  }

  #deviceOf(row: CsvRow): string {
    const text = row.text(this.#deviceCell);
    if (!isMissing(text)) return text;
    this.#count("device");
    return "cuda:0";
  }

  #builderOf(row: CsvRow, device: string): TableBuilder {
    const rank = this.#rankCell < 0 ? 0 : this.#rankOf(row);
    let ranks = this.#builders.get(device);
    if (!ranks) {
      ranks = new Map();
      this.#builders.set(device, ranks);
    }
    let builder = ranks.get(rank);
    if (!builder) {
      const width = this.#columnsOf(device).length;
      builder = new TableBuilder(rank, device, width, this.#time !== null, this.#step !== null);
      ranks.set(rank, builder);
      this.#tables += 1;
      checkTableCount(this.#tables, this.#name, this.#cells.length);
    }
    return builder;
  }

  #columnsOf(device: string): readonly CellColumn[] {
    return this.#deviceCell >= 0 ? this.#cells : (this.#cellsOf.get(device) ?? []);
  }

  #rankOf(row: CsvRow): number {
    const rank = numberIn(row, this.#rankCell, "rank", this.#name);
    if (Number.isNaN(rank)) {
      this.#count("rank");
      return 0;
    }
    if (!Number.isInteger(rank) || rank < 0 || rank > MAX_RANK) {
      throw invalidInput("RANK_INVALID", `line ${row.line}, column "rank": ${rank} is not a rank`, this.#name);
    }
    return rank;
  }

  finish(): CsvRecording {
    if (this.#builders.size === 0) {
      throw invalidInput("INPUT_EMPTY", "the file has a header and no rows", this.#name, "Was anything recorded?");
    }
    const groups = this.#deviceCell >= 0 ? [[...this.#builders.keys()]] : this.#devices.map((device) => [device]);
    const finished = groups.map((devices) => {
      const builders = devices.flatMap((device) => [...(this.#builders.get(device)?.values() ?? [])]);
      return finishTables(builders, this.#columnsOf(devices[0] ?? ""));
    });
    const tables = finished.flatMap((group) => group.tables);
    for (const cell of this.#cells) if (cell.missing > 0) this.#missing.set(cell.header, cell.missing);
    const notes = [...this.#notes];
    for (const [header, { example, count }] of this.#unreadable)
      notes.push(`${plural(count, "value")} of "${header}" cannot be read, for example ${JSON.stringify(example)}`);
    if (this.#ignored.length > 0) notes.push(ignoredText(this.#ignored));
    if (this.#unordered > 0) notes.push(outOfOrder(this.#unordered, "timestamps"));
    if (this.#stepsBack > 0)
      notes.push(`the step counter runs backwards ${this.#stepsBack === 1 ? "once" : `${this.#stepsBack} times`}`);
    return {
      recording: {
        epochNs: this.#stamps.epochNs,
        tables: tables.sort((a, b) => a.rank - b.rank),
        peaks: finished.flatMap((group) => group.peaks),
        marks: [],
        events: null,
        worldSize: null,
        missing: Object.fromEntries(this.#missing),
        info: null,
      },
      notes,
    };
  }
}

/** "ignored columns: loss, lr". */
function ignoredText(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => cutText(name, MAX_NAME));
  const rest = names.length > shown.length ? ` and ${names.length - shown.length} more` : "";
  return oneLine(`ignored ${names.length === 1 ? "column" : "columns"}: ${shown.join(", ")}${rest}`);
}

/**
 * Reads CSV whose header names any of `timestamp_ns | time_s`, `step`, `rank`, `device` and `allocated_bytes`,
 * `reserved_bytes`, `used_bytes`, `host_bytes` (each also with the suffix `_highwater`), or a clock or step counter of
 * other loggers. Other columns are ignored, with a note. Without a `device` column, host memory belongs to device
 * "host" and everything else to "cuda:0". Missing cells are NaN and counted per column.
 * @throws GateError INPUT_EMPTY, INPUT_TRUNCATED, CSV_ROW_LENGTH, CSV_NOT_A_NUMBER, NEGATIVE_BYTES, BYTES_TOO_LARGE,
 *   RANK_INVALID, TIMESTAMP_INVALID, CSV_DUPLICATE_COLUMN, CSV_ROW_TOO_LONG
 */
export function parseGenericCsv(chunks: Iterable<Uint8Array>, delimiter: string, name: string): CsvRecording {
  const reader = new GenericCsvReader(name);
  scanCsv(chunks, delimiter, name, (row) => reader.row(row));
  return reader.finish();
}
