import { groupBy } from "../../core/group-by.ts";
import { combinedTables, heldAt } from "../../telemetry/recording/common-clock.ts";
import type { Recording, SampleTable, TelemetryEvent } from "../../telemetry/recording/model.ts";
import { groupTables, joinColumn, largest } from "../series/series.ts";
import { isSample } from "../stormlog/cross-rank.ts";
import type { GapSamples } from "../stormlog/gap.ts";
import { columnsAt, type DeviceEvidence } from "./device-evidence.ts";
import { reservedOf } from "./gap-series.ts";

/** The table's name of an event's device, so that findings and series use the same names. */
function deviceName(ofRank: readonly SampleTable[], deviceId: number): string {
  if (deviceId < 0) return "host";
  const own = ofRank.find((table) => table.device.endsWith(`:${deviceId}`));
  return own?.device ?? `cuda:${deviceId}`;
}

const orNaN = (value: number | null): number => value ?? Number.NaN;

/** Inactive split blocks of an event, unless its collector states that they do not measure fragmentation. */
function splitBlocks({ allocatorInactive, metadata }: TelemetryEvent): number {
  const capabilities = metadata.memory_capabilities as Readonly<Record<string, unknown>> | undefined;
  return capabilities?.supports_fragmentation_analysis === false ? Number.NaN : orNaN(allocatorInactive);
}

function fromEvents(recording: Recording, events: readonly TelemetryEvent[]): GapSamples[] {
  // Exports from before Stormlog 0.3.2 contain no samples. There every event is one.
  const samples = events.some(isSample) ? events.filter(isSample) : events;
  const tables = groupBy(recording.tables, ({ rank }) => rank);
  return [...groupBy(samples, ({ rank, deviceId }) => `${rank} ${deviceId}`).values()]
    .sort((a, b) => a[0]!.rank - b[0]!.rank || a[0]!.deviceId - b[0]!.deviceId)
    .map((group) => {
      const origin = group[0]!.timestampNs;
      return {
        rank: group[0]!.rank,
        device: deviceName(tables.get(group[0]!.rank) ?? [], group[0]!.deviceId),
        timeNs: Float64Array.from(group, (event) => Number(event.timestampNs - origin)),
        allocated: Float64Array.from(group, (event) => orNaN(event.allocatorAllocated)),
        reserved: Float64Array.from(group, (event) => orNaN(event.allocatorReserved)),
        used: Float64Array.from(group, (event) => orNaN(event.deviceUsed)),
        total: Float64Array.from(group, (event) => orNaN(event.deviceTotal)),
        ...(group.some(({ isV4 }) => isV4) ? { inactive: Float64Array.from(group, splitBlocks) } : {}),
      };
    });
}

const column = (values: Float64Array, keep: readonly number[]) => Float64Array.from(keep, (i) => values[i]!);

/**
 * A device of a recording of this project: its samples of used memory, each with the memory of the allocators of all
 * ranks on it. Samples around which an allocator changed are dropped: the two are read at different times, and the
 * rules would take the difference for a spike. If other processes changed its used memory, the driver's account of the
 * job replaces it, if there is one.
 */
function fromDevice(recording: Recording, { recorded, users, touched, blind }: DeviceEvidence): GapSamples[] {
  const rankDevice = { rank: recorded.rank, device: recorded.name };
  const apart = touched || blind;
  const of = apart ? "job" : "used";
  const sharers = apart ? [rankDevice] : users;
  const [used] = columnsAt(recording, rankDevice, of);
  if (used === undefined) return [];
  const readings = (metric: "reserved" | "allocated") => sharers.flatMap((user) => columnsAt(recording, user, metric));
  const reserved = reservedOf(readings("reserved"), used.timeNs);
  if (reserved === null) return [];
  const allocated = readings("allocated").map(({ timeNs, values }) => heldAt(timeNs, values, used.timeNs));
  const [totals] = columnsAt(recording, rankDevice, "total");
  const total = recorded.total_bytes ?? (totals === undefined ? null : largest(totals.values));
  if (total === null) return [];
  const rows: number[] = [];
  for (let i = 0; i < used.timeNs.length; i++) {
    // A gap exists only after the first allocation.
    if (!Number.isNaN(used.values[i]!) && reserved[i]! > 0) rows.push(i);
  }
  return [
    {
      ...rankDevice,
      timeNs: column(used.timeNs, rows),
      allocated: Float64Array.from(rows, (i) =>
        allocated.reduce((sum, held) => (Number.isNaN(held[i]!) ? sum : sum + held[i]!), 0),
      ),
      reserved: column(reserved, rows),
      used: column(used.values, rows),
      total: new Float64Array(rows.length).fill(total),
    },
  ];
}

/**
 * Input of the gap analysis: one entry per rank and device that has used, reserved and total memory and a clock.
 * @param devices devices of a recording of this project
 */
export function gapSamples(recording: Recording, devices: readonly DeviceEvidence[] = []): GapSamples[] {
  if (recording.events !== null && recording.events.length > 0) return fromEvents(recording, recording.events);
  if (devices.length > 0) return devices.flatMap((device) => fromDevice(recording, device));
  return groupTables(combinedTables(recording.tables)).flatMap(({ rank, device, tables }) => {
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
