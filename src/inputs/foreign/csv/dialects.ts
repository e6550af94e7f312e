import { GIB, KIB, MIB } from "../../../core/units.ts";
import { isMetric } from "../../../telemetry/recording/metrics.ts";
import { COLUMNS, COUNTS, type Column } from "../../../telemetry/recording/model.ts";
import type { ByteColumn } from "./table-builder.ts";

/** Clocks of loggers, best first, with the unit of their numbers in seconds; null where the name has none. */
export const CLOCKS: ReadonlyMap<string, number | null> = new Map([
  ["timestamp", null],
  ["elapsed_sec", 1],
  ["elapsed_s", 1],
  ["elapsed_seconds", 1],
  ["elapsed", null],
  ["time_s", 1],
  ["time_sec", 1],
  ["seconds", 1],
  ["time", null],
  ["elapsed_ms", 1e-3],
  ["time_ms", 1e-3],
]);

/** Note on calendar times without a time zone, as nvidia-smi prints them. */
export const NO_ZONE = "timestamps have no time zone and are read as UTC";

const CALENDAR = /^(\d{4})[/-](\d\d)[/-](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:(Z)|([+-])(\d\d):?(\d\d))?$/;

/** A calendar time as seconds and nanoseconds of Unix time. */
interface CalendarTime {
  readonly seconds: number;
  readonly nanos: number;
  /** False without a time zone: such a time is read as UTC, since only differences matter. */
  readonly zoned: boolean;
}

/** Parse `2026-03-01T12:00:00.5Z`, or `2026/03/01 12:00:00.500` as nvidia-smi prints it; null for any other text. */
export function calendarTime(text: string): CalendarTime | null {
  const parts = CALENDAR.exec(text);
  if (parts === null) return null;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number);
  const [fraction = "", utc, sign, hours = "0", minutes = "0"] = parts.slice(7);
  const offset = (sign === "-" ? -60 : 60) * (Number(hours) * 60 + Number(minutes));
  return {
    seconds: Date.UTC(year!, month! - 1, day, hour, minute, second) / 1000 - offset,
    nanos: Number(fraction.padEnd(9, "0")),
    zoned: utc !== undefined || sign !== undefined,
  };
}

/** The unit of a number of a clock in seconds. Without a stated one it is seconds, or what makes it a Unix time. */
export function clockUnit(clock: string, value: number): number {
  const stated = CLOCKS.get(clock) ?? null;
  if (stated !== null) return stated;
  if (value >= 1e17) return 1e-9;
  if (value >= 1e14) return 1e-6;
  return value >= 1e11 ? 1e-3 : 1;
}

/** A header's field of bytes. */
export interface ByteField extends ByteColumn {
  /** Bytes per unit of a bare number; null where neither name nor log has a unit; absent where only bytes are read. */
  readonly unit?: number | null;
  /** Device of the values when the text names none. */
  readonly device: string;
}

/** What a layout of rows says by its header, and how strictly its cells are read. */
export interface Dialect {
  readonly nameOf: (field: string) => string;
  readonly columnOf: (name: string, field: string) => ByteField | null;
  /** Names of the clock, best first. */
  readonly clocks: readonly string[];
  /** Whether a cell of a clock or step counter that is not a number is an error, else it is missing with a note. */
  readonly isStrict: (name: string) => boolean;
  /** Names of the column that identifies a device, best first, and the device of one of its texts. */
  readonly identities: readonly string[];
  readonly deviceOf: (identity: string, name: string, position: number) => string;
  /** A log of GPUs: it may repeat its header, and what it does not contain is not worth a note. */
  readonly isLog: boolean;
  /** Of a text without rows: the problem and the hint. */
  readonly empty: readonly [string, string];
}

const BYTE_COLUMNS: ReadonlyMap<string, ByteField> = new Map(
  COLUMNS.filter((column) => !COUNTS.has(column)).flatMap((column): [string, ByteField][] => {
    const device = column === "host" || column === "rss" ? "host" : "cuda:0";
    return [
      [`${column}_bytes`, { column, highwater: false, device }],
      [`${column}_bytes_highwater`, { column, highwater: true, device }],
    ];
  }),
);

/** Clocks whose cells must be numbers, best first. Those of other loggers come after them. */
export const OWN_CLOCKS = ["timestamp_ns", "time_s"];

export const GENERIC: Dialect = {
  nameOf: (field) => field.toLowerCase(),
  columnOf: (name) => BYTE_COLUMNS.get(name) ?? null,
  clocks: [...OWN_CLOCKS, ...CLOCKS.keys()],
  isStrict: (name) => name === "step" || OWN_CLOCKS.includes(name),
  identities: ["device"],
  deviceOf: (identity) => identity,
  isLog: false,
  empty: ["the file has a header and no rows", "Was anything recorded?"],
};

/** True when the header names at least one memory column of the generic layout. The others are optional. */
export function isGenericHeader(header: readonly string[]): boolean {
  return header.some((field) => isMetric(BYTE_COLUMNS.get(field.trim().toLowerCase())?.column ?? ""));
}

/** `nvidia-smi --query-gpu` fields; `memory.reserved` is the driver's own memory. */
const SMI_COLUMNS: ReadonlyMap<string, Column> = new Map([
  ["memory.used", "used"],
  ["memory.total", "total"],
  ["memory.free", "free"],
  ["memory.reserved", "driver"],
]);
/** Names of other loggers: `mem_used_mb`, `memory_used`, `gpu_memory_total_gib`, `used_memory`. */
const LOGGED =
  /^(?:gpu_)?(?:mem(?:ory)?_(used|total|free)|(used|total|free)_(?:gpu_)?mem(?:ory)?)(?:_(b|bytes|ki?b|mi?b|gi?b))?$/;
const NAMES = ["uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "serial", "gpu_serial"];
/** GPU tools mean powers of two by "MB", as the driver's own log does by "MiB". */
const UNITS = new Map(Object.entries({ b: 1, bytes: 1, kb: KIB, mb: MIB, gb: GIB }));
export const unitOf = (text: string): number | undefined => UNITS.get(text.toLowerCase().replace(/^([kmg])ib$/, "$1b"));
const HEADER_FIELD = /^([a-z0-9_.]+)\s*(?:[[(]([a-z%]+)[\])])?$/i;

const logField = (field: string) => HEADER_FIELD.exec(field.trim())?.[1]?.toLowerCase() ?? "";

export const GPU_LOG: Dialect = {
  nameOf: logField,
  columnOf: (name, field) => {
    const own = SMI_COLUMNS.get(name);
    const [, before, after, ending] = LOGGED.exec(name) ?? [];
    const column = own ?? ((before ?? after) as Column | undefined);
    if (column === undefined) return null;
    const unit = unitOf(HEADER_FIELD.exec(field.trim())?.[2] ?? ending ?? "") ?? (own === undefined ? null : MIB);
    return { column, highwater: false, unit, device: "" };
  },
  clocks: [...CLOCKS.keys()],
  isStrict: () => true,
  // Columns that number a GPU, best first, then those that name it, then those that may have either.
  identities: ["index", "gpu_index", "gpu_id", "device_index", "device_id", ...NAMES, "gpu", "device"],
  deviceOf: (identity, name, position) => {
    const index = NAMES.includes(name) ? undefined : /^(?:cuda:|gpu)?(\d{1,6})$/i.exec(identity)?.[1];
    return `cuda:${index === undefined ? position : Number(index)}`;
  },
  isLog: true,
  empty: ["the log has a header and no rows", "Was nvidia-smi stopped immediately?"],
};

/** True for the header of `nvidia-smi --query-gpu=…memory.used… --format=csv`. */
export function isNvidiaSmiHeader(header: readonly string[]): boolean {
  return header.some((field) => logField(field) === "memory.used");
}

/** True for the header of a GPU log with other names than nvidia-smi's, such as `elapsed_sec,mem_used_mb`. */
export function isGpuLogHeader(header: readonly string[]): boolean {
  return header.some((field) => LOGGED.exec(logField(field))?.slice(1, 3).includes("used"));
}
