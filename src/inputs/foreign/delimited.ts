import { invalidInput } from "../../core/errors.ts";
import { cutText, oneLine, plural } from "../../core/text.ts";
import { MIB } from "../../core/units.ts";
import { checkTableCount } from "../../telemetry/recording/input-file.ts";
import { emptyRecording, MAX_RANK, type Recording, type SampleTable } from "../../telemetry/recording/model.ts";
import { checkRowLength, isMissing, numberIn, numberOrNull, parseNumber, rejectImpossible } from "./csv/cells.ts";
import {
  type ByteField,
  CLOCKS,
  calendarTime,
  clockUnit,
  type Dialect,
  GENERIC,
  GPU_LOG,
  NO_ZONE,
  OWN_CLOCKS,
  unitOf,
} from "./csv/dialects.ts";
import { type CsvRow, scanCsv } from "./csv/scan.ts";
import { finishTables, TableBuilder } from "./csv/table-builder.ts";
import { TimeStamps } from "./csv/timestamps.ts";
import { outOfOrder } from "./stormlog/events-recording.ts";

/** A recording read from delimited text, with notes about how it was read. */
export interface CsvRecording {
  readonly recording: Recording;
  readonly notes: readonly string[];
}

interface ReadCell {
  readonly cell: number;
  readonly header: string;
}

/** More MiB than any device has (16 TiB): such numbers without a unit are bytes. */
const MAX_MIB = 2 ** 24;
/** Numbers below are times since an unnamed start (1973 as Unix time), so they do not show their unit. */
const MIN_UNIX_S = 1e8;
/** Maximum number of ignored columns that a note names, and of characters of each. */
const MAX_NAMES = 12;
const MAX_NAME = 40;

class DelimitedReader {
  readonly #dialect: Dialect;
  readonly #name: string;
  #header: string[] | null = null;
  #time: ReadCell | null = null;
  #step: ReadCell | null = null;
  #rank: ReadCell | null = null;
  #identity: ReadCell | null = null;
  #cells: (ByteField & ReadCell)[] = [];
  /** Without an identity: the devices of the columns, and the columns of each. */
  #devices: string[] = [];
  readonly #cellsOf = new Map<string, (ByteField & ReadCell)[]>();
  /** By identity, or by device without one, and rank. */
  readonly #builders = new Map<string, Map<number, TableBuilder>>();
  #tables = 0;
  readonly #stamps = new TimeStamps();
  readonly #missing = new Map<string, number>();
  /** Header fields that are not read. */
  #ignored: readonly string[] = [];
  /** Texts that are neither times nor step numbers, in columns with names of other loggers. */
  readonly #unreadable = new Map<string, { readonly example: string; count: number }>();
  readonly #notes = new Set<string>();
  /** Largest bare number of the columns without a unit. */
  #largest = 0;
  #unordered = 0;
  #stepsBack = 0;

  constructor(dialect: Dialect, name: string) {
    this.#dialect = dialect;
    this.#name = name;
  }

  row(row: CsvRow): void {
    const header = this.#header;
    if (header === null) {
      this.#readHeader(row);
      return;
    }
    // A log that several runs appended to repeats its header.
    if (this.#dialect.isLog && row.count === header.length && header.every((field, i) => row.text(i) === field)) return;
    checkRowLength(row, header.length, this.#name);
    const timeNs = this.#time === null ? Number.NaN : this.#timeOf(row, this.#time);
    const step = this.#step === null ? Number.NaN : this.#numberOf(row, this.#step);
    if (this.#identity !== null) {
      const table = this.#builderOf(row, this.#identityOf(row, this.#identity));
      this.#compareWithLast(table, timeNs, step);
      this.#append(row, table, timeNs, step, this.#cells);
      return;
    }
    for (const [i, device] of this.#devices.entries()) {
      const table = this.#builderOf(row, device);
      // The tables of one row have the same order, so one of them is checked.
      if (i === 0) this.#compareWithLast(table, timeNs, step);
      this.#append(row, table, timeNs, step, this.#columnsOf(device));
    }
  }

  /** Rows of several ranks or devices interleave, so a row is compared with the previous one of its own table. */
  #compareWithLast(table: TableBuilder, timeNs: number, step: number): void {
    if (timeNs <= table.lastTime) this.#unordered++;
    if (step < table.lastStep) this.#stepsBack++;
    if (!Number.isNaN(timeNs)) table.lastTime = timeNs;
    if (!Number.isNaN(step)) table.lastStep = step;
  }

  #append(row: CsvRow, to: TableBuilder, timeNs: number, step: number, cells: readonly (ByteField & ReadCell)[]): void {
    to.time?.push(timeNs);
    to.steps?.push(step);
    for (let i = 0; i < cells.length; i++) {
      const cell = cells[i]!;
      to.columns[i]!.push(cell.unit === undefined ? this.#bytesOf(row, cell) : this.#sizeOf(row, cell, cell.unit));
    }
  }

  #readHeader(row: CsvRow): void {
    const { nameOf, columnOf, clocks, identities, isLog } = this.#dialect;
    const header = Array.from({ length: row.count }, (_, i) => row.text(i));
    const names = header.map(nameOf);
    for (const [cell, name] of names.entries()) {
      if (!isLog && name !== "" && names.indexOf(name) < cell) {
        const problem = `the header names "${name}" twice`;
        throw invalidInput("CSV_DUPLICATE_COLUMN", problem, this.#name, "Rename one of them.");
      }
      const field = columnOf(name, header[cell]!);
      if (field === null || (isLog && this.#cells.some(({ column }) => column === field.column))) continue;
      this.#cells.push({ ...field, cell, header: name });
    }
    const find = (wanted: readonly string[]): ReadCell | null => {
      const name = wanted.find((one) => names.includes(one));
      return name === undefined ? null : { cell: names.indexOf(name), header: name };
    };
    this.#time = find(clocks);
    this.#step = find(["step", "iteration"]);
    this.#rank = isLog ? null : find(["rank"]);
    this.#identity = find(identities);
    if (isLog && this.#identity === null) this.#notes.add("no index or uuid column: all rows are read as one GPU");
    const read = [this.#time, this.#step, this.#rank, this.#identity, ...this.#cells].map((cell) => cell?.header);
    this.#ignored = isLog ? [] : names.filter((name) => name !== "" && !read.includes(name));
    this.#header = header;
    this.#devices = [...new Set(this.#cells.map(({ device }) => device))];
    for (const device of this.#devices) {
      const own = this.#cells.filter((cell) => cell.device === device);
      this.#cellsOf.set(device, own);
    }
  }

  #count(column: string): number {
    this.#missing.set(column, (this.#missing.get(column) ?? 0) + 1);
    return Number.NaN;
  }

  /** The number in a cell; NaN, and counted, for a missing one, and for another text where that is not an error. */
  #numberOf(row: CsvRow, { cell, header }: ReadCell): number {
    let value: number | null;
    if (this.#dialect.isStrict(header)) value = numberIn(row, cell, header, this.#name);
    else {
      const text = row.text(cell);
      value = numberOrNull(text);
      if (value === null) return this.#unread(header, text);
    }
    return Number.isNaN(value) ? this.#count(header) : value;
  }

  #timeOf(row: CsvRow, time: ReadCell): number {
    const { cell, header } = time;
    const stamps = this.#stamps;
    if (header === "timestamp_ns") {
      const timeNs = stamps.digits(row.bytes, row.starts[cell]!, row.ends[cell]!);
      if (!Number.isNaN(timeNs)) return timeNs;
      const value = this.#numberOf(row, time);
      return Number.isNaN(value) ? value : stamps.nanoseconds(value, row.line, header, this.#name);
    }
    // A calendar time is read in the columns of other loggers alone.
    const isOwn = !this.#dialect.isLog && OWN_CLOCKS.includes(header);
    const date = isOwn ? null : calendarTime(row.text(cell));
    if (date !== null) {
      if (!date.zoned) this.#notes.add(NO_ZONE);
      return stamps.split(date.seconds, date.nanos);
    }
    const value = this.#numberOf(row, time);
    if (Number.isNaN(value)) return value;
    if (!this.#dialect.isLog && !isOwn) {
      if (value < 0) return this.#unread(header, row.text(cell));
      if (CLOCKS.get(header) === null && value < MIN_UNIX_S)
        this.#notes.add(`${header} without a unit: read as seconds`);
    }
    return stamps.seconds(value * clockUnit(header, value), row.line, header, this.#name);
  }

  #unread(header: string, text: string): number {
    const known = this.#unreadable.get(header);
    if (known === undefined) this.#unreadable.set(header, { example: text.slice(0, MAX_NAME), count: 1 });
    else known.count += 1;
    return this.#count(header);
  }

  #bytesOf(row: CsvRow, { cell, header }: ReadCell): number {
    const value = numberIn(row, cell, header, this.#name);
    if (value < 0 || value > Number.MAX_SAFE_INTEGER) rejectImpossible(value, row.line, header, this.#name);
    if (Number.isNaN(value)) return this.#count(header);
    return Number.isInteger(value) ? value : Math.round(value);
  }

  /** Bytes of a cell that may have a unit. Until all are known, a column without one is in MiB. */
  #sizeOf(row: CsvRow, { cell, header }: ReadCell, unit: number | null): number {
    const text = row.text(cell);
    if (isMissing(text)) return this.#count(header);
    const [, digits, own] = /^([+-]?[\d.]+)\s*([a-z]+)$/i.exec(text) ?? [];
    const stated = own === undefined ? undefined : unitOf(own);
    // An unknown unit falls through to the number parser, whose error names line and column.
    const value = parseNumber(
      digits !== undefined && stated !== undefined ? digits : text,
      row.line,
      header,
      this.#name,
    );
    const factor = stated ?? unit;
    const bytes = factor === null ? value : Math.round(value * factor);
    rejectImpossible(bytes, row.line, header, this.#name);
    if (unit !== null) return bytes;
    if (stated !== undefined) return bytes / MIB;
    this.#largest = Math.max(this.#largest, value);
    return value;
  }

  #identityOf(row: CsvRow, { cell, header }: ReadCell): string {
    const text = row.text(cell);
    if (this.#dialect.isLog || !isMissing(text)) return text;
    this.#count(header);
    return "cuda:0";
  }

  #builderOf(row: CsvRow, identity: string): TableBuilder {
    const rank = this.#rank === null ? 0 : this.#rankOf(row, this.#rank);
    let ranks = this.#builders.get(identity);
    if (!ranks) {
      ranks = new Map();
      this.#builders.set(identity, ranks);
    }
    let builder = ranks.get(rank);
    if (!builder) {
      const device = this.#dialect.deviceOf(identity, this.#identity?.header ?? "", this.#builders.size - 1);
      const width = this.#columnsOf(identity).length;
      builder = new TableBuilder(rank, device, width, this.#time !== null, this.#step !== null);
      ranks.set(rank, builder);
      this.#tables += 1;
      checkTableCount(this.#tables, this.#name, this.#cells.length);
    }
    return builder;
  }

  #columnsOf(device: string): readonly (ByteField & ReadCell)[] {
    return this.#identity !== null ? this.#cells : (this.#cellsOf.get(device) ?? []);
  }

  #rankOf(row: CsvRow, { cell, header }: ReadCell): number {
    const rank = numberIn(row, cell, header, this.#name);
    if (Number.isNaN(rank)) {
      this.#count(header);
      return 0;
    }
    if (!Number.isInteger(rank) || rank < 0 || rank > MAX_RANK) {
      throw invalidInput("RANK_INVALID", `line ${row.line}, column "rank": ${rank} is not a rank`, this.#name);
    }
    return rank;
  }

  /** Bytes in the columns whose names have no unit: MiB, as in nvidia-smi's log, unless no device has that many. */
  #scaleUnstated(tables: readonly SampleTable[]): void {
    const unstated = this.#cells.filter(({ unit }) => unit === null);
    if (unstated.length === 0) return;
    const factor = this.#largest > MAX_MIB ? 1 : MIB;
    for (const { column } of unstated) {
      for (const { columns } of tables) {
        const values = columns[column] ?? new Float64Array();
        for (let i = 0; i < values.length; i++) values[i] = Math.round(values[i]! * factor);
      }
    }
    const names = unstated.map(({ header }) => header).join(", ");
    this.#notes.add(`${names} without a unit: read as ${factor === 1 ? "bytes" : "MiB"}`);
  }

  finish(): CsvRecording {
    const { isLog, empty } = this.#dialect;
    if (this.#builders.size === 0) throw invalidInput("INPUT_EMPTY", empty[0], this.#name, empty[1]);
    const groups = this.#identity !== null ? [[...this.#builders.keys()]] : this.#devices.map((device) => [device]);
    const finished = groups.map((own) => {
      const builders = own.flatMap((one) => [...(this.#builders.get(one)?.values() ?? [])]);
      return finishTables(builders, this.#columnsOf(own[0] ?? ""));
    });
    const tables = finished.flatMap((group) => group.tables);
    this.#scaleUnstated(tables);
    const byDevice = (a: SampleTable, b: SampleTable): number => (isLog ? (a.device < b.device ? -1 : 1) : 0);
    return {
      recording: {
        ...emptyRecording(tables.sort((a, b) => a.rank - b.rank || byDevice(a, b))),
        epochNs: this.#stamps.epochNs,
        peaks: finished.flatMap((group) => group.peaks),
        missing: Object.fromEntries(this.#missing),
      },
      notes: [...this.#notes, ...(isLog ? [] : this.#problems())],
    };
  }

  #problems(): string[] {
    const unreadable = [...this.#unreadable].map(
      ([header, { example, count }]) =>
        `${plural(count, "value")} of "${header}" cannot be read, for example ${JSON.stringify(example)}`,
    );
    const times = this.#stepsBack === 1 ? "once" : `${this.#stepsBack} times`;
    return [
      ...unreadable,
      ...(this.#ignored.length > 0 ? [ignoredText(this.#ignored)] : []),
      ...(this.#unordered > 0 ? [outOfOrder(this.#unordered, "timestamps")] : []),
      ...(this.#stepsBack > 0 ? [`the step counter runs backwards ${times}`] : []),
    ];
  }
}

/** "ignored columns: loss, lr". */
function ignoredText(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => cutText(name, MAX_NAME));
  const rest = names.length > shown.length ? ` and ${names.length - shown.length} more` : "";
  return oneLine(`ignored ${names.length === 1 ? "column" : "columns"}: ${shown.join(", ")}${rest}`);
}

function read(dialect: Dialect, chunks: Iterable<Uint8Array>, delimiter: string, name: string): CsvRecording {
  const reader = new DelimitedReader(dialect, name);
  scanCsv(chunks, delimiter, name, (row) => reader.row(row));
  return reader.finish();
}

/**
 * Reads CSV whose header names any of `timestamp_ns | time_s`, `step`, `rank`, `device` and `allocated_bytes`,
 * `reserved_bytes`, `used_bytes`, `host_bytes` (each also with the suffix `_highwater`), or a clock or step counter of
 * other loggers. Other columns are ignored, with a note. Without a `device` column, host memory belongs to device
 * "host" and everything else to "cuda:0". Missing cells are NaN and counted per column.
 * @throws GateError INPUT_EMPTY, INPUT_TRUNCATED, CSV_ROW_LENGTH, CSV_NOT_A_NUMBER, NEGATIVE_BYTES, BYTES_TOO_LARGE,
 *   RANK_INVALID, TIMESTAMP_INVALID, CSV_DUPLICATE_COLUMN, CSV_ROW_TOO_LONG
 */
export const parseGenericCsv = (chunks: Iterable<Uint8Array>, delimiter: string, name: string): CsvRecording =>
  read(GENERIC, chunks, delimiter, name);

/**
 * Reads a log of `nvidia-smi --query-gpu=… --format=csv[,nounits]`, or a GPU log whose names contain their units: one
 * table per GPU, identified by `index`, else `uuid` or the bus id in order of appearance. A unit in the cell overrides
 * one in the header. A bare number is MiB, in a log of other names bytes if no device has that many MiB.
 * @throws GateError INPUT_EMPTY, INPUT_TRUNCATED, CSV_ROW_LENGTH, CSV_NOT_A_NUMBER, NEGATIVE_BYTES, TIMESTAMP_INVALID
 */
export const parseNvidiaSmiCsv = (chunks: Iterable<Uint8Array>, delimiter: string, name: string): CsvRecording =>
  read(GPU_LOG, chunks, delimiter, name);
