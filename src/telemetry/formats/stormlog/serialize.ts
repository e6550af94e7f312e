import type { TelemetryEvent } from "../../recording/model.ts";

/** The 22 keys of a version 2 event in canonical order, with what holds their values; null = the version itself. */
const PROPERTIES = {
  schema_version: null,
  timestamp_ns: "timestampNs",
  event_type: "eventType",
  collector: "collector",
  sampling_interval_ms: "samplingIntervalMs",
  pid: "pid",
  host: "host",
  job_id: "jobId",
  rank: "rank",
  local_rank: "localRank",
  world_size: "worldSize",
  device_id: "deviceId",
  allocator_allocated_bytes: "allocatorAllocated",
  allocator_reserved_bytes: "allocatorReserved",
  allocator_active_bytes: "allocatorActive",
  allocator_inactive_bytes: "allocatorInactive",
  allocator_change_bytes: "allocatorChange",
  device_used_bytes: "deviceUsed",
  device_free_bytes: "deviceFree",
  device_total_bytes: "deviceTotal",
  context: "context",
  metadata: "metadata",
} as const satisfies Readonly<Record<string, keyof TelemetryEvent | null>>;

export type EventField = keyof typeof PROPERTIES;
/** In canonical order, which is also that of CSV columns. */
export const EVENT_FIELDS = Object.keys(PROPERTIES) as EventField[];

/** Keys of the byte counters. */
export type CounterField = Extract<EventField, `${string}_bytes`>;
export const COUNTER_FIELDS = EVENT_FIELDS.filter((field): field is CounterField => field.endsWith("_bytes"));
export type Counters = Readonly<Record<CounterField, number | null>>;

/** Counters by key as the properties of an event. */
export function counterProperties(counters: Counters) {
  const properties = COUNTER_FIELDS.map((field) => [PROPERTIES[field], counters[field]] as const);
  return Object.fromEntries(properties) as Pick<TelemetryEvent, (typeof PROPERTIES)[CounterField]>;
}

/** The value of one schema field. Timestamps stay exact as bigint. */
function fieldValue(event: TelemetryEvent, field: EventField): unknown {
  const property = PROPERTIES[field];
  return property === null ? 2 : event[property];
}

const indented = (value: unknown, indent: string) => JSON.stringify(value, null, 2).replaceAll("\n", `\n${indent}`);

/** One event as a JSON object of its 22 keys in canonical order, indented by four spaces as an element of an array. */
function eventJson(event: TelemetryEvent): string {
  const members = EVENT_FIELDS.map((field) => {
    const value = fieldValue(event, field);
    return `    "${field}": ${typeof value === "bigint" ? String(value) : indented(value, "    ")}`;
  });
  return `  {\n${members.join(",\n")}\n  }`;
}

/** `events.json`: an array of version 2 events, indent 2, whole numbers in full digits. */
export function eventsJson(events: readonly TelemetryEvent[]): string {
  return events.length === 0 ? "[]\n" : `[\n${events.map(eventJson).join(",\n")}\n]\n`;
}

function csvCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** `events.csv`: the same 22 columns, nulls empty, `metadata` as a JSON cell. */
export function eventsCsv(events: readonly TelemetryEvent[]): string {
  const rows = events.map((event) => EVENT_FIELDS.map((field) => csvCell(fieldValue(event, field))).join(","));
  return `${[EVENT_FIELDS.join(","), ...rows].join("\n")}\n`;
}
