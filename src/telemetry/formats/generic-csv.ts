import { invalidInput } from "../../core/errors.ts";
import { checkTableCount } from "../input-file.ts";
import { COLUMNS, COUNTS, type Column, MAX_RANK, METRICS, type Recording } from "../recording/model.ts";
import { checkRowLength, isMissing, numberIn, rejectImpossible } from "./csv/cells.ts";
import { type CsvRow, scanCsv } from "./csv/scan.ts";
import { type ByteColumn, finishTables, TableBuilder } from "./csv/table-builder.ts";
import { TimeStamps } from "./csv/timestamps.ts";

const HIGHWATER_SUFFIX = "_highwater";
const BYTE_COLUMNS: ReadonlyMap<string, ByteColumn> = new Map(
  COLUMNS.filter((column) => !COUNTS.has(column)).flatMap((column): [string, ByteColumn][] => [
    [`${column}_bytes`, { column, highwater: false }],
    [`${column}_bytes${HIGHWATER_SUFFIX}`, { column, highwater: true }],
  ]),
);
/** Columns that identify a readable table. The others are optional. */
const MAIN_COLUMNS: ReadonlySet<Column> = new Set<Column>(METRICS);

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
  #time: { cell: number; unit: "ns" | "s"; header: string } | null = null;
  #stepCell = -1;
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
    const step = this.#stepCell < 0 ? Number.NaN : this.#optional(row, this.#stepCell, "step");
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
      } else if (field === "timestamp_ns") this.#time = { cell, unit: "ns", header: field };
      else if (field === "time_s") this.#time ??= { cell, unit: "s", header: field };
      else if (field === "step") this.#stepCell = cell;
      else if (field === "rank") this.#rankCell = cell;
      else if (field === "device") this.#deviceCell = cell;
    }
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
    let timeNs = Number.NaN;
    if (time.unit === "ns") timeNs = this.#stamps.digits(row.bytes, row.starts[time.cell]!, row.ends[time.cell]!);
    if (Number.isNaN(timeNs)) {
      const value = this.#optional(row, time.cell, time.header);
      if (Number.isNaN(value)) return Number.NaN;
      timeNs =
        time.unit === "ns"
          ? this.#stamps.nanoseconds(value, row.line, time.header, this.#name)
          : this.#stamps.seconds(value, row.line, time.header, this.#name);
    }
    return timeNs;
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
      builder = new TableBuilder(rank, device, width, this.#time !== null, this.#stepCell >= 0);
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
    const notes: string[] = [];
    if (this.#unordered > 0)
      notes.push(`${this.#unordered} timestamps are not later than the previous one (file order kept)`);
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

/**
 * Reads CSV whose header names any of `timestamp_ns | time_s | step`, `rank`, `device` and `allocated_bytes`,
 * `reserved_bytes`, `used_bytes`, `host_bytes` (each also with the suffix `_highwater`). Without a `device` column,
 * host memory belongs to device "host" and everything else to "cuda:0". Missing cells are NaN and counted per column.
 * @throws GateError INPUT_EMPTY, INPUT_TRUNCATED, CSV_ROW_LENGTH, CSV_NOT_A_NUMBER, NEGATIVE_BYTES, BYTES_TOO_LARGE,
 *   RANK_INVALID, TIMESTAMP_INVALID, CSV_DUPLICATE_COLUMN, CSV_ROW_TOO_LONG
 */
export function parseGenericCsv(chunks: Iterable<Uint8Array>, delimiter: string, name: string): CsvRecording {
  const reader = new GenericCsvReader(name);
  scanCsv(chunks, delimiter, name, (row) => reader.row(row));
  return reader.finish();
}
