import { combinedTables } from "../../recording/common-clock.ts";
import type { Column, Recording, SampleTable } from "../../recording/model.ts";

/** A table in Stormlog's terms: its columns for allocated, reserved and used memory, and the collector. */
export interface StormlogTable {
  readonly table: SampleTable;
  readonly timeNs: Float64Array;
  readonly deviceId: number;
  readonly collector: string;
  readonly backend: string;
  readonly samplingSource: string;
  readonly allocated: Float64Array;
  readonly reserved: Float64Array;
  readonly used: Float64Array;
  readonly active: Float64Array | null;
  readonly inactive: Float64Array | null;
  readonly total: Float64Array | null;
  readonly free: Float64Array | null;
}

/** The heap of one process. Stormlog's CPU tracker writes the resident set for all three. */
export const HEAP_COLLECTOR = "stormlog_gate.heap_probe";

/** A heap that was sampled for less than half of the run does not represent it. */
const HEAP_SHARE = 0.5;

/** The heap's numbers if a probe recorded them; else the resident set for all three, as Stormlog's CPU telemetry. */
function heapOf({ columns }: SampleTable): Float64Array | null {
  const { allocated, host, used } = columns;
  if (allocated === undefined || used !== undefined) return null;
  if (host === undefined) return allocated;
  const known = allocated.reduce((count, value) => count + Number(Number.isFinite(value)), 0);
  return known >= HEAP_SHARE * allocated.length ? allocated : null;
}

const NO_DEVICE = { deviceId: -1, backend: "cpu", active: null, inactive: null, total: null, free: null } as const;

function hostTable(table: SampleTable): StormlogTable | null {
  const { timeNs, columns } = table;
  const heap = heapOf(table);
  const host = columns.host ?? columns.rss ?? columns.used ?? columns.allocated;
  if (!timeNs || !host) return null;
  const own = { ...NO_DEVICE, table, timeNs };
  if (heap === null) {
    const samplingSource = "proc statm and status, process tree";
    return { ...own, collector: "stormlog.cpu_tracker", samplingSource, allocated: host, reserved: host, used: host };
  }
  const reserved = columns.reserved ?? heap;
  return {
    ...own,
    collector: HEAP_COLLECTOR,
    samplingSource: "heap of the main process by the C library, process tree by proc statm and status",
    // The heap as the allocator, the process tree's memory as the device.
    allocated: heap,
    reserved,
    used: columns.host ?? columns.rss ?? reserved,
  };
}

const backendOf = (device: string) => /^[a-z]+(?=:|$)/.exec(device.toLowerCase())?.[0] ?? "cuda";

function deviceTable(table: SampleTable, position: number): StormlogTable | null {
  const { columns, timeNs, device } = table;
  const column = (name: Column) => columns[name] ?? null;
  // Without a probe in the process, the driver's account of the job's processes is closest to allocated memory.
  const allocated = column("allocated") ?? column("job") ?? column("used") ?? column("reserved");
  if (!timeNs || !allocated) return null;
  const backend = backendOf(device);
  const full = columns.allocated !== undefined && columns.reserved !== undefined;
  const reserved = column("reserved") ?? allocated;
  const isMps = backend === "mps";
  return {
    table,
    timeNs,
    deviceId: Number(/:(\d+)$/.exec(device)?.[1] ?? position),
    // Our own collector name, where allocated memory differs from that of Stormlog's collector of the device.
    collector: full ? `stormlog.${isMps ? "mps" : "cuda"}_tracker` : "stormlog_gate.device_sampler",
    backend,
    samplingSource: full
      ? "framework allocator counters, device memory of the driver"
      : columns.job
        ? "device memory of the driver, allocated by the job's processes"
        : "device memory of the driver, whole device",
    allocated,
    reserved,
    used: column("used") ?? reserved,
    active: column("active"),
    inactive: column("inactive"),
    // The limit of MPS may be exceeded, which the schema forbids for a total.
    total: isMps ? null : column("total"),
    free: isMps ? null : column("free"),
  };
}

/** The tables to export: the devices', else the host's. Never both, because Stormlog analyses a rank as one series. */
export function stormlogTables(recording: Recording): StormlogTable[] {
  const tables = combinedTables(recording.tables);
  const devices = tables
    .filter((table) => table.device !== "host")
    .map(deviceTable)
    .filter((table) => table !== null);
  if (devices.length > 0) return devices;
  return tables.map(hostTable).filter((table) => table !== null);
}
