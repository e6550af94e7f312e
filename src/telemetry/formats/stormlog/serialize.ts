import type { TelemetryEvent } from "../../recording/model.ts";

/** The 22 keys of a version 2 event in canonical order, which is also the order of CSV columns. */
export const EVENT_FIELDS = [
  "schema_version",
  "timestamp_ns",
  "event_type",
  "collector",
  "sampling_interval_ms",
  "pid",
  "host",
  "job_id",
  "rank",
  "local_rank",
  "world_size",
  "device_id",
  "allocator_allocated_bytes",
  "allocator_reserved_bytes",
  "allocator_active_bytes",
  "allocator_inactive_bytes",
  "allocator_change_bytes",
  "device_used_bytes",
  "device_free_bytes",
  "device_total_bytes",
  "context",
  "metadata",
] as const;

type FieldName = (typeof EVENT_FIELDS)[number];

/** The value of one schema field. Timestamps stay exact as bigint. */
function fieldValue(event: TelemetryEvent, field: FieldName): unknown {
  switch (field) {
    case "schema_version":
      return 2;
    case "timestamp_ns":
      return event.timestampNs;
    case "event_type":
      return event.eventType;
    case "collector":
      return event.collector;
    case "sampling_interval_ms":
      return event.samplingIntervalMs;
    case "pid":
      return event.pid;
    case "host":
      return event.host;
    case "job_id":
      return event.jobId;
    case "rank":
      return event.rank;
    case "local_rank":
      return event.localRank;
    case "world_size":
      return event.worldSize;
    case "device_id":
      return event.deviceId;
    case "allocator_allocated_bytes":
      return event.allocatorAllocated;
    case "allocator_reserved_bytes":
      return event.allocatorReserved;
    case "allocator_active_bytes":
      return event.allocatorActive;
    case "allocator_inactive_bytes":
      return event.allocatorInactive;
    case "allocator_change_bytes":
      return event.allocatorChange;
    case "device_used_bytes":
      return event.deviceUsed;
    case "device_free_bytes":
      return event.deviceFree;
    case "device_total_bytes":
      return event.deviceTotal;
    case "context":
      return event.context;
    case "metadata":
      return event.metadata;
  }
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
