import { GrowableColumn } from "../../../telemetry/recording/growable.ts";
import { checkTableCount } from "../../../telemetry/recording/input-file.ts";
import type { Column, Recording, SampleTable, TelemetryEvent } from "../../../telemetry/recording/model.ts";

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

class EventTable {
  readonly rank: number;
  readonly device: string;
  readonly #time = new GrowableColumn();
  readonly #columns = COUNTERS.map(() => new GrowableColumn());

  constructor(rank: number, device: string) {
    this.rank = rank;
    this.device = device;
  }

  add(event: TelemetryEvent, epochNs: bigint): void {
    this.#time.push(Number(event.timestampNs - epochNs));
    for (const [i, [, counter]] of COUNTERS.entries()) this.#columns[i]!.push(event[counter] ?? Number.NaN);
  }

  finish(): SampleTable {
    const columns: Partial<Record<Column, Float64Array>> = {};
    for (const [i, [column]] of COUNTERS.entries()) {
      const values = this.#columns[i]!.take();
      if (ALWAYS.has(column) || values.some((value) => !Number.isNaN(value))) columns[column] = values;
    }
    const { rank, device } = this;
    return { rank, device, timeNs: this.#time.take(), steps: null, columns, highwater: new Set() };
  }
}

/** Events as a recording: a table per (rank, device) in file order; all events with counters if none is a `sample`. */
export function eventsToRecording(events: readonly TelemetryEvent[], name: string): Recording {
  let epochNs = events[0]?.timestampNs ?? 0n;
  let worldSize = 1;
  for (const event of events) {
    if (event.timestampNs < epochNs) epochNs = event.timestampNs;
    if (event.worldSize > worldSize) worldSize = event.worldSize;
  }
  const groups = new Map<
    string,
    { readonly rank: number; readonly device: string; readonly events: TelemetryEvent[] }
  >();
  for (const event of events) {
    const device = deviceNameOf(event);
    const key = `${event.rank} ${device}`;
    const group = groups.get(key);
    if (group) group.events.push(event);
    else groups.set(key, { rank: event.rank, device, events: [event] });
    checkTableCount(groups.size, name);
  }
  const tables: SampleTable[] = [];
  for (const group of groups.values()) {
    const samples = group.events.some((event) => typeOf(event) === "sample");
    const rows = group.events.filter((event) =>
      samples ? typeOf(event) === "sample" : !NOT_A_READING.has(typeOf(event)),
    );
    if (rows.length === 0) continue;
    const table = new EventTable(group.rank, group.device);
    for (const event of rows) table.add(event, epochNs);
    tables.push(table.finish());
  }
  const marks = events
    .filter((event) => typeof event.metadata.oom_reason === "string")
    .map((event) => ({
      timeNs: Number(event.timestampNs - epochNs),
      kind: "oom" as const,
      text: event.context ?? String(event.metadata.oom_reason),
    }));
  return {
    epochNs: events.length === 0 ? null : epochNs,
    tables: tables.sort((a, b) => a.rank - b.rank),
    peaks: [],
    marks,
    events,
    worldSize: events.length === 0 ? null : worldSize,
    missing: {},
    info: null,
  };
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
