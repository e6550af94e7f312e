import { readdirSync } from "node:fs";
import path from "node:path";
import { invalidInput } from "../../../core/errors.ts";
import { isNestedWithin, isObject } from "../../../core/json.ts";
import { EVENT_FIELDS } from "../../../telemetry/formats/stormlog/serialize.ts";
import { readChunks } from "../../../telemetry/recording/input-file.ts";
import type { TelemetryEvent } from "../../../telemetry/recording/model.ts";
import { checkTruncated, digitsIn, isMissing } from "../csv/cells.ts";
import { type CsvRow, scanCsv } from "../csv/scan.ts";
import { atRecord, RecordProblem } from "./fields.ts";
import { type JsonText, jsonValues, memberText, NO_FRACTIONS, parseRecord, type SourceRecord } from "./json-values.ts";
import { eventOf } from "./validate.ts";

/** Events are objects (about 400 bytes each). More would not fit into the memory of a usual process. */
const MAX_EVENTS = 6_000_000;
const MAX_SHARED = 10_000;

/** Content of a source of telemetry. */
export interface EventSource {
  readonly events: TelemetryEvent[];
  readonly notes: readonly string[];
}

const EVENT_KEYS = [
  "schema_version",
  "event_type",
  "type",
  "memory_allocated",
  "memory_mb",
  "timestamp",
  "timestamp_ns",
];

/** True when an object has a key that only telemetry events have. */
export function looksLikeEvent(record: Readonly<Record<string, unknown>>): boolean {
  return EVENT_KEYS.some((key) => Object.hasOwn(record, key));
}

/** Older names of the device's counters in out-of-memory dumps, which the general conversion ignores. */
function withDumpCounters(record: SourceRecord): SourceRecord {
  const { values } = record;
  if (Object.hasOwn(values, "schema_version") || !Object.hasOwn(values, "device_used")) return record;
  const renamed: Record<string, unknown> = { ...values };
  for (const [from, to] of [
    ["device_used", "device_used_bytes"],
    ["device_free", "device_free_bytes"],
    ["active_memory", "allocator_active_bytes"],
    ["inactive_memory", "allocator_inactive_bytes"],
  ] as const) {
    if (!Object.hasOwn(renamed, to) && Object.hasOwn(values, from) && values[from] !== null) renamed[to] = values[from];
  }
  return { values: renamed, fractions: record.fractions };
}

/** Collects events. Equal metadata and strings are shared, because a file repeats them often. */
class EventCollector {
  readonly events: TelemetryEvent[] = [];
  readonly notes = new Set<string>();
  readonly #metadata = new Map<string, Readonly<Record<string, unknown>>>();
  readonly #seen = new WeakSet<Readonly<Record<string, unknown>>>();
  readonly #texts = new Map<string, string>();
  /** Metadata cells of a CSV file by their text. */
  readonly cells = new Map<string, Record<string, unknown>>();
  readonly #name: string;
  readonly #legacyCollector: string | undefined;

  /** @param legacyCollector of legacy records without one */
  constructor(name: string, legacyCollector?: string) {
    this.#name = name;
    this.#legacyCollector = legacyCollector;
  }

  add(record: SourceRecord, where: string): void {
    if (this.events.length >= MAX_EVENTS) {
      throw invalidInput(
        "INPUT_TOO_LARGE",
        `more than ${MAX_EVENTS} events`,
        this.#name,
        "Split the file by rank or time.",
      );
    }
    try {
      const event = eventOf(withDumpCounters(record), this.#legacyCollector);
      this.events.push({
        ...event,
        eventType: this.#text(event.eventType),
        collector: this.#text(event.collector),
        host: this.#text(event.host),
        jobId: event.jobId === null ? null : this.#text(event.jobId),
        metadata: this.#shared(event.metadata),
      });
    } catch (error) {
      if (error instanceof RecordProblem) throw atRecord(error, this.#name, where);
      throw error;
    }
  }

  source(): EventSource {
    if (this.events.length === 0) {
      throw invalidInput("INPUT_EMPTY", "the file contains no telemetry events", this.#name, "Was anything recorded?");
    }
    return { events: this.events, notes: [...this.notes] };
  }

  #text(value: string): string {
    const known = this.#texts.get(value);
    if (known !== undefined) return known;
    if (this.#texts.size < MAX_SHARED) this.#texts.set(value, value);
    return value;
  }

  #shared(metadata: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    if (this.#seen.has(metadata)) return metadata;
    const key = JSON.stringify(metadata, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
    const known = this.#metadata.get(key);
    if (known) return known;
    if (this.#metadata.size < MAX_SHARED) {
      this.#metadata.set(key, metadata);
      this.#seen.add(metadata);
    }
    return metadata;
  }
}

function notAnObject(index: number, name: string): Error {
  return invalidInput(
    "TELEMETRY_INVALID",
    `Event at index ${index} must be an object`,
    name,
    "Export the events again.",
  );
}

/** Texts of the elements of an object's `events` list, cut out of its text, because parsed numbers lose digits. */
function* listedEvents(document: Readonly<Record<string, unknown>>, text: string, name: string): Generator<JsonText> {
  const list = document.events;
  if (!Array.isArray(list)) return;
  const own = memberText(text, "events");
  if (own?.startsWith("[")) yield* jsonValues([Buffer.from(own)], name);
  // The key was written with escapes.
  else for (const [index, value] of list.entries()) yield { text: JSON.stringify(value), index, element: true };
}

/**
 * Events of a JSON or JSON Lines text: an array, an object with an `events` list, one event or several.
 * @throws GateError TELEMETRY_INVALID, NEGATIVE_BYTES, INPUT_SCHEMA_VERSION, INPUT_EMPTY, and {@link jsonValues}'s
 */
export function readJsonEvents(values: Iterable<JsonText>, name: string): EventSource {
  const collector = new EventCollector(name);
  const add = (value: JsonText): void => {
    const record = parseRecord(value.text, `${name}: event ${value.index}`);
    if (record === null) throw notAnObject(value.index, name);
    if (!value.element && Array.isArray(record.values.events)) {
      for (const event of listedEvents(record.values, value.text, name)) add(event);
      return;
    }
    if (!value.element && !looksLikeEvent(record.values)) {
      throw invalidInput("TELEMETRY_INVALID", "JSON payload does not contain telemetry events", name);
    }
    collector.add(record, `event ${value.index}`);
  };
  for (const value of values) add(value);
  return collector.source();
}

const INTEGER_COLUMNS: ReadonlySet<string> = new Set([
  ...EVENT_FIELDS.filter((field) => field.endsWith("_bytes") || field.endsWith("_ns") || field.endsWith("_ms")),
  "schema_version",
  "pid",
  "rank",
  "local_rank",
  "world_size",
  "device_id",
  "memory_allocated",
  "memory_reserved",
  "memory_change",
  "total_memory",
  "device_used",
  "device_free",
  "device_total",
  "active_memory",
  "inactive_memory",
]);
const FLOAT_COLUMNS: ReadonlySet<string> = new Set(["timestamp", "memory_mb"]);

/** True for the header of an exported event table, of any telemetry version. */
export function isEventHeader(header: readonly string[]): boolean {
  const names = new Set(header);
  const named = (...columns: string[]) => columns.every((column) => names.has(column));
  return (
    named("event_type", "allocator_allocated_bytes") ||
    (named("memory_allocated") && (named("timestamp") || named("timestamp_ns")))
  );
}

function metadataCell(text: string, collector: EventCollector): Record<string, unknown> {
  let cell = collector.cells.get(text);
  if (cell) return cell;
  cell = parseMetadata(text, collector);
  if (collector.cells.size < MAX_SHARED) collector.cells.set(text, cell);
  return cell;
}

/** Escapes of a Python string, and the characters of those that are not numbers. */
const ESCAPE = /\\(?:x([\da-f]{2})|u([\da-f]{4})|U([\da-f]{8})|(.))/gis;
const ESCAPED: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };
const PYTHON = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|\b(?:None|nan)\b|-?\binf\b|\b(True|False)\b/gs;

/** A dictionary as `repr` of Python prints it, as JSON; a text of another kind stays none. */
function asJson(repr: string): string {
  return repr.replace(PYTHON, (_, single?: string, double?: string, truth?: string) => {
    const text = single ?? double;
    if (text === undefined) return truth?.toLowerCase() ?? "null";
    const plain = text.replace(ESCAPE, (_escape, x?: string, u?: string, U?: string, char = "") => {
      const code = Number.parseInt(x ?? u ?? U ?? "", 16);
      return Number.isNaN(code) ? (ESCAPED[char] ?? char) : String.fromCodePoint(Math.min(code, 0x10ffff));
    });
    return JSON.stringify(plain);
  });
}

function parseMetadata(text: string, collector: EventCollector): Record<string, unknown> {
  // Stormlog's own export has the dictionary as Python prints it.
  for (const candidate of [text === "" ? "{}" : text, asJson(text)]) {
    try {
      const parsed: unknown = JSON.parse(candidate);
      // Deeper metadata is not telemetry.
      if (isObject(parsed) && isNestedWithin(parsed, 32)) return parsed;
    } catch {
      // The note below reports it.
    }
  }
  collector.notes.add("metadata cells that are neither JSON objects nor Python dictionaries were read as empty");
  return {};
}

function csvCell(field: string, text: string, collector: EventCollector): unknown {
  if (field === "metadata") return metadataCell(text, collector);
  if (text === "") return null;
  if (INTEGER_COLUMNS.has(field)) {
    if (/^[+-]?\d+$/.test(text)) {
      const value = Number(text);
      return Number.isSafeInteger(value) ? value : BigInt(text);
    }
    // Spreadsheets turn integer columns with gaps into "2048.0", and NaN is how they write the gap.
    const value = Number(text);
    if (Number.isFinite(value)) return Math.trunc(value);
    return isMissing(text) ? null : text;
  }
  if (FLOAT_COLUMNS.has(field)) {
    const value = Number(text);
    return Number.isFinite(value) ? value : text;
  }
  return text;
}

/**
 * Events of a CSV export. Empty cells are null, integers may be floats, `metadata` JSON or a Python dictionary.
 * @throws GateError as {@link readJsonEvents}, and INPUT_TRUNCATED for a truncated last line
 */
export function readCsvEvents(chunks: Iterable<Uint8Array>, delimiter: string, name: string): EventSource {
  const collector = new EventCollector(name, "legacy.csv");
  let header: string[] | null = null;
  const read = (row: CsvRow): void => {
    if (header === null) {
      header = Array.from({ length: row.count }, (_, i) => row.text(i));
      return;
    }
    checkTruncated(row, header.length, name);
    const values: Record<string, unknown> = {};
    for (let i = 0; i < header.length; i++) {
      const field = header[i]!;
      const digits = i < row.count && INTEGER_COLUMNS.has(field) ? digitsIn(row, i) : -1;
      if (digits >= 0) values[field] = digits;
      else values[field] = i < row.count ? csvCell(field, row.text(i), collector) : null;
    }
    if (values.schema_version === null) delete values.schema_version;
    collector.add({ values, fractions: NO_FRACTIONS }, `line ${row.line}`);
  };
  scanCsv(chunks, delimiter, name, read);
  return collector.source();
}

/** A directory of telemetry: `events.json` of a dump or export, or a sink's segments by name. Null without either. */
export function readEventDirectory(directory: string): EventSource | null {
  const names = readdirSync(directory).sort();
  const readEvents = (name: string): EventSource => {
    const file = path.join(directory, name);
    return readJsonEvents(jsonValues(readChunks(file), file), file);
  };
  if (names.includes("events.json")) return readEvents("events.json");
  const segments = names.filter((name) => name.endsWith(".jsonl"));
  if (segments.length === 0) return null;
  const sources = segments.map(readEvents);
  return {
    events: sources.flatMap((source) => source.events),
    notes: [...new Set(sources.flatMap((source) => source.notes))],
  };
}
