import { groupBy } from "../../../core/group-by.ts";
import { checkTableCount } from "../../../telemetry/recording/input-file.ts";
import {
  type Column,
  emptyRecording,
  type Recording,
  type SampleTable,
  type TelemetryEvent,
} from "../../../telemetry/recording/model.ts";
import type { EventSource } from "./event-source.ts";

const COUNTERS = [
  ["allocated", "allocatorAllocated"],
  ["reserved", "allocatorReserved"],
  ["used", "deviceUsed"],
  ["active", "allocatorActive"],
  ["inactive", "allocatorInactive"],
  ["total", "deviceTotal"],
  ["free", "deviceFree"],
] as const satisfies readonly (readonly [Column, keyof TelemetryEvent])[];

/** Columns of every table, empty or not. The others are present only with values. */
const ALWAYS: ReadonlySet<Column> = new Set<Column>(["allocated", "reserved", "used"]);

/** No samples: `error` repeats zeros, phase and collector events the last sample; start may precede the first. */
const NOT_A_READING: ReadonlySet<string> = new Set([
  "start",
  "stop",
  "error",
  "phase_enter",
  "phase_exit",
  "collector_degraded",
  "collector_recovered",
]);

const typeOf = (event: TelemetryEvent) => event.eventType.trim().toLowerCase();

/** Device name of an event: "host" for the CPU, "mps:0", else "cuda:N" (the name PyTorch uses on ROCm too). */
function deviceNameOf(event: TelemetryEvent): string {
  if (event.deviceId < 0) return "host";
  return `${event.collector.includes("mps") ? "mps" : "cuda"}:${event.deviceId}`;
}

function tableOf(rank: number, device: string, events: readonly TelemetryEvent[], epochNs: bigint): SampleTable {
  const columns: Partial<Record<Column, Float64Array>> = {};
  for (const [column, counter] of COUNTERS) {
    const values = Float64Array.from(events, (event) => event[counter] ?? Number.NaN);
    if (ALWAYS.has(column) || values.some((value) => !Number.isNaN(value))) columns[column] = values;
  }
  const timeNs = Float64Array.from(events, ({ timestampNs }) => Number(timestampNs - epochNs));
  return { rank, device, timeNs, steps: null, columns, highwater: new Set() };
}

/** Events as a recording: a table per (rank, device) in file order; all events with counters if none is a `sample`. */
export function eventsToRecording(events: readonly TelemetryEvent[], name: string): Recording {
  let epochNs = events[0]?.timestampNs ?? 0n;
  let worldSize = 1;
  for (const event of events) {
    if (event.timestampNs < epochNs) epochNs = event.timestampNs;
    if (event.worldSize > worldSize) worldSize = event.worldSize;
  }
  const groups = groupBy(events, (event) => `${event.rank} ${deviceNameOf(event)}`);
  checkTableCount(groups.size, name);
  const tables: SampleTable[] = [];
  for (const group of groups.values()) {
    const samples = group.some((event) => typeOf(event) === "sample");
    const rows = group.filter((event) => (samples ? typeOf(event) === "sample" : !NOT_A_READING.has(typeOf(event))));
    const [first] = rows;
    if (first !== undefined) tables.push(tableOf(first.rank, deviceNameOf(first), rows, epochNs));
  }
  const marks = events
    .filter((event) => typeof event.metadata.oom_reason === "string")
    .map((event) => ({
      timeNs: Number(event.timestampNs - epochNs),
      kind: "oom" as const,
      text: event.context ?? String(event.metadata.oom_reason),
    }));
  return {
    ...emptyRecording(tables.sort((a, b) => a.rank - b.rank)),
    epochNs: events.length === 0 ? null : epochNs,
    marks,
    events,
    worldSize: events.length === 0 ? null : worldSize,
  };
}

/** Events as a read input, with a note on those out of order. */
export function eventsTelemetry({ events, notes }: EventSource, name: string) {
  const unordered = unorderedEvents(events);
  return {
    kind: "recording",
    recording: eventsToRecording(events, name),
    notes: unordered > 0 ? [...notes, outOfOrder(unordered, "events")] : notes,
  } as const;
}

/** The note on samples that are not later than the one before: the analysis puts them in order. */
export function outOfOrder(count: number, kind: "timestamps" | "events"): string {
  return `${count} ${kind} are not later than the previous one (put in order of time)`;
}

/** Number of events that are not later than the previous one of the same rank and device. File order is kept. */
export function unorderedEvents(events: readonly TelemetryEvent[]): number {
  const last = new Map<string, bigint>();
  let unordered = 0;
  for (const event of events) {
    if (typeOf(event) !== "sample") continue;
    const key = `${event.rank} ${event.deviceId}`;
    const before = last.get(key);
    if (before !== undefined && event.timestampNs <= before) unordered++;
    last.set(key, event.timestampNs);
  }
  return unordered;
}
