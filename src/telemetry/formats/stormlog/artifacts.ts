import { groupBy } from "../../../core/group-by.ts";
import type { Recording, TelemetryEvent } from "../../recording/model.ts";
import { HEAP_COLLECTOR } from "./reading.ts";

/** Width of a timeline bin, seconds: that of Stormlog's own timeline. */
const TIMELINE_BIN_S = 1;
const ALERT_TYPES: ReadonlySet<string> = new Set(["warning", "critical", "error"]);

const isSample = (event: TelemetryEvent) => event.eventType === "sample";
const seconds = (event: TelemetryEvent) => Number(event.timestampNs / 1000n) / 1e6;
const groups = (events: readonly TelemetryEvent[]): TelemetryEvent[][] => [
  ...groupBy(events, ({ rank, deviceId }) => `${rank} ${deviceId}`).values(),
];

interface TimelineArrays {
  readonly timestamps: number[];
  readonly allocated: (number | null)[];
  readonly reserved: (number | null)[];
}

/** One value per second, the last of its second. CPU runs keep every sample, as in Stormlog's CPU tracker. */
function timelineOf(events: readonly TelemetryEvent[]): TimelineArrays {
  const samples = events.filter(isSample);
  const arrays: TimelineArrays = { timestamps: [], allocated: [], reserved: [] };
  const [first] = samples;
  if (!first) return arrays;
  const add = (time: number, event: TelemetryEvent): void => {
    arrays.timestamps.push(time);
    arrays.allocated.push(event.allocatorAllocated);
    arrays.reserved.push(event.allocatorReserved);
  };
  for (const [i, event] of samples.entries()) {
    const bin = (of: TelemetryEvent) => Math.floor(Number(of.timestampNs - first.timestampNs) / (TIMELINE_BIN_S * 1e9));
    const next = samples[i + 1];
    if (event.deviceId < 0) add(seconds(event), event);
    else if (!next || bin(next) !== bin(event)) add(seconds(first) + bin(event) * TIMELINE_BIN_S, event);
  }
  return arrays;
}

/** `timeline.json`: Stormlog's arrays of the first rank and device; all of several ones under `series`. */
export function timelineDocument(events: readonly TelemetryEvent[]): Record<string, unknown> {
  const all = groups(events);
  const [main = []] = all;
  const series = all.map((group) => ({ rank: group[0]!.rank, device_id: group[0]!.deviceId, ...timelineOf(group) }));
  return { ...timelineOf(main), ...(all.length > 1 ? { series } : {}) };
}

/** `alerts.json`: the events of type warning, critical and error. */
export function alertEvents(events: readonly TelemetryEvent[]): TelemetryEvent[] {
  return events.filter((event) => ALERT_TYPES.has(event.eventType));
}

/** Stormlog's statistics of one tracker. Allocations are the samples at which allocated memory grew. */
function statisticsOf(events: readonly TelemetryEvent[], exactPeak: number | null): Record<string, unknown> {
  const samples = events.filter(isSample);
  const changes = samples.map((event) => event.allocatorChange ?? 0);
  const ups = changes.filter((change) => change > 0);
  const downs = changes.filter((change) => change < 0);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const [first] = events;
  const last = events.at(-1);
  const lastSample = samples.at(-1);
  const start = first ? seconds(first) : null;
  const end = last ? seconds(last) : null;
  const duration = start === null || end === null ? 0 : end - start;
  const peak = samples.reduce((most, event) => Math.max(most, event.allocatorAllocated ?? 0), exactPeak ?? 0);
  const total = lastSample?.deviceTotal ?? null;
  const perSecond = Math.max(duration, 1);
  return {
    peak_memory: peak,
    total_allocations: ups.length,
    total_deallocations: downs.length,
    total_allocation_bytes: sum(ups),
    total_deallocation_bytes: -sum(downs) || 0,
    alert_count: alertEvents(events).length,
    tracking_start_time: start,
    last_memory_check: end,
    total_events: events.length,
    events_last_hour: events.filter((event) => end !== null && seconds(event) > end - 3600).length,
    backend: first?.metadata.backend ?? null,
    oom_flight_recorder_enabled: false,
    last_oom_dump_path: null,
    current_memory_allocated: lastSample?.allocatorAllocated ?? null,
    current_memory_reserved: lastSample?.allocatorReserved ?? null,
    memory_utilization_percent: total && lastSample?.deviceUsed ? (100 * lastSample.deviceUsed) / total : null,
    average_allocation_size: sum(ups) / Math.max(ups.length, 1),
    average_deallocation_size: -sum(downs) / Math.max(downs.length, 1) || 0,
    tracking_duration_seconds: duration,
    allocations_per_second: ups.length / perSecond,
    bytes_allocated_per_second: sum(ups) / perSecond,
    ...(first && first.deviceId < 0 ? { mode: "cpu" } : {}),
  };
}

/** `stats.json`: that of the first rank and device; of all under `series`. */
export function statisticsDocument(events: readonly TelemetryEvent[], recording: Recording): Record<string, unknown> {
  const all = groups(events).map((group) => {
    const { rank, deviceId, collector } = group[0]!;
    const metric = deviceId < 0 && collector !== HEAP_COLLECTOR ? "host" : "allocated";
    const known = recording.peaks.find(
      (peak) => peak.rank === rank && peak.metric === metric && (peak.device === "host") === deviceId < 0,
    );
    return { rank, device_id: deviceId, ...statisticsOf(group, known?.bytes ?? null) };
  });
  const [main] = all;
  if (!main) return statisticsOf([], null);
  const { rank: _rank, device_id: _device, ...statistics } = main;
  return { ...statistics, ...(all.length > 1 ? { series: all } : {}) };
}
