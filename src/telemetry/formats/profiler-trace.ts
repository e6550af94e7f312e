import { invalidInput } from "../../core/errors.ts";
import { isObject } from "../../core/json.ts";
import { GrowableColumn } from "../recording/growable.ts";
import type { Recording, SampleTable } from "../recording/model.ts";

const NS_PER_US = 1000;
/** `Device Type` of a memory event: the CPU's allocator. Others are accelerators. */
const CPU_DEVICE = 0;

/** True for a trace of the PyTorch profiler or any Chrome trace. */
export function isProfilerTrace(document: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(document.traceEvents);
}

/**
 * Reads the `[memory]` events of a PyTorch profiler trace (`profile_memory=True`): a table per device; CPU is "host".
 * @throws GateError TRACE_WITHOUT_MEMORY, NEGATIVE_BYTES
 */
export function traceRecording(document: Readonly<Record<string, unknown>>, name: string): Recording {
  const events: unknown[] = Array.isArray(document.traceEvents) ? document.traceEvents : [];
  const distributed = isObject(document.distributedInfo) ? document.distributedInfo : {};
  const rank = Number.isInteger(distributed.rank) && Number(distributed.rank) >= 0 ? Number(distributed.rank) : 0;
  const devices = new Map<string, { time: GrowableColumn; allocated: GrowableColumn; reserved: GrowableColumn }>();
  let start = Number.NaN;
  for (const event of events) {
    if (!isObject(event) || event.name !== "[memory]" || !isObject(event.args)) continue;
    const { args } = event;
    const allocated = Number(args["Total Allocated"] ?? Number.NaN);
    const micros = Number(event.ts ?? Number.NaN);
    if (!Number.isFinite(allocated) || !Number.isFinite(micros)) continue;
    if (allocated < 0) throw invalidInput("NEGATIVE_BYTES", `a memory event has ${allocated} bytes in total`, name);
    if (Number.isNaN(start)) start = micros;
    const device =
      Number(args["Device Type"]) === CPU_DEVICE ? "host" : `cuda:${Math.max(0, Number(args["Device Id"]) || 0)}`;
    let table = devices.get(device);
    if (!table) {
      table = { time: new GrowableColumn(), allocated: new GrowableColumn(), reserved: new GrowableColumn() };
      devices.set(device, table);
    }
    table.time.push(Math.round((micros - start) * NS_PER_US));
    table.allocated.push(allocated);
    const reserved = Number(args["Total Reserved"] ?? Number.NaN);
    table.reserved.push(reserved >= 0 ? reserved : Number.NaN);
  }
  if (devices.size === 0) {
    throw invalidInput(
      "TRACE_WITHOUT_MEMORY",
      "the trace has no [memory] events with totals",
      name,
      "Record it with profile_memory=True.",
    );
  }
  const tables = [...devices].map(([device, table]): SampleTable => {
    const allocated = table.allocated.take();
    const reserved = table.reserved.take();
    const timeNs = table.time.take();
    // The CPU's allocator does not reserve memory, and the profiler writes 0.
    const columns = device === "host" ? { allocated } : { allocated, reserved };
    return { rank, device, timeNs, steps: null, columns, highwater: new Set() };
  });
  const worldSize = Number(distributed.world_size);
  return {
    epochNs: null,
    tables,
    peaks: [],
    marks: [],
    events: null,
    worldSize: worldSize >= 1 ? worldSize : null,
    missing: {},
    info: null,
  };
}
