import type { Recording, SampleTable, TelemetryEvent } from "../telemetry/model.ts";
import { groupTables, joinColumn } from "./series.ts";
import type { GapSamples } from "./stormlog/gap.ts";

const isSample = (event: TelemetryEvent): boolean => event.eventType.trim().toLowerCase() === "sample";

/** The name a table gives to an event's device, so that findings and series speak of the same thing. */
function deviceName(tables: readonly SampleTable[], rank: number, deviceId: number): string {
  if (deviceId < 0) return "host";
  const own = tables.find((table) => table.rank === rank && table.device.endsWith(`:${deviceId}`));
  return own?.device ?? `cuda:${deviceId}`;
}

const orNaN = (value: number | null): number => value ?? Number.NaN;

function fromEvents(recording: Recording, events: readonly TelemetryEvent[]): GapSamples[] {
  // Exports from before Stormlog 0.3.2 hold no sample at all; then every event is one.
  const samples = events.some(isSample) ? events.filter(isSample) : events;
  const groups = new Map<string, TelemetryEvent[]>();
  for (const event of samples) {
    const key = `${event.rank} ${event.deviceId}`;
    const group = groups.get(key);
    if (group) group.push(event);
    else groups.set(key, [event]);
  }
  return [...groups.values()]
    .sort((a, b) => a[0]!.rank - b[0]!.rank || a[0]!.deviceId - b[0]!.deviceId)
    .map((group) => {
      const origin = group[0]!.timestampNs;
      return {
        rank: group[0]!.rank,
        device: deviceName(recording.tables, group[0]!.rank, group[0]!.deviceId),
        timeNs: Float64Array.from(group, (event) => Number(event.timestampNs - origin)),
        allocated: Float64Array.from(group, (event) => orNaN(event.allocatorAllocated)),
        reserved: Float64Array.from(group, (event) => orNaN(event.allocatorReserved)),
        used: Float64Array.from(group, (event) => orNaN(event.deviceUsed)),
        total: Float64Array.from(group, (event) => orNaN(event.deviceTotal)),
      };
    });
}

/** What the gap analysis looks at: one entry per rank and device that has used, reserved and total memory and a clock. */
export function gapSamples(recording: Recording): GapSamples[] {
  if (recording.events !== null && recording.events.length > 0) return fromEvents(recording, recording.events);
  return groupTables(recording.tables).flatMap(({ rank, device, tables }) => {
    const timeNs = joinColumn(tables, (table) => table.timeNs);
    const reserved = joinColumn(tables, (table) => table.columns.reserved);
    const used = joinColumn(tables, (table) => table.columns.used);
    const total = joinColumn(tables, (table) => table.columns.total);
    if (!timeNs || !reserved || !used || !total) return [];
    const allocated =
      joinColumn(tables, (table) => table.columns.allocated) ?? new Float64Array(used.length).fill(Number.NaN);
    return [{ rank, device, timeNs, allocated, reserved, used, total }];
  });
}
