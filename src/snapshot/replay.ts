import { Action, State, type TorchSnapshot, type TraceTable } from "./model.ts";

/** Memory levels of one device over its trace: after each entry, in bytes. */
export interface DeviceSeries {
  readonly device: number;
  /** Microseconds of the wall clock; null where the entries have none. */
  readonly timeUs: Float64Array | null;
  readonly allocated: Float64Array;
  readonly active: Float64Array;
  readonly reserved: Float64Array;
}

/** Bytes of a device at the time of the snapshot. */
function levels(
  { segments, blocks }: TorchSnapshot,
  device: number,
): {
  readonly allocated: number;
  readonly active: number;
  readonly reserved: number;
} {
  let allocated = 0;
  let active = 0;
  let reserved = 0;
  for (let i = 0; i < segments.count; i++) {
    if (segments.device[i] !== device) continue;
    reserved += segments.totalSize[i] as number;
    for (let b = segments.firstBlock[i] as number; b < (segments.firstBlock[i + 1] as number); b++) {
      const size = blocks.size[b] as number;
      if (blocks.state[b] === State.allocated) allocated += size;
      if (blocks.state[b] !== State.inactive) active += size;
    }
  }
  return { allocated, active, reserved };
}

/** Bytes reserved on a device at the time of the snapshot. */
export function reservedBytes(snapshot: TorchSnapshot, device: number): number {
  return levels(snapshot, device).reserved;
}

/** A running sum that ends at `end` and is never negative. */
class Level {
  readonly values: Float64Array;
  #sum = 0;
  #lowest = 0;

  constructor(length: number) {
    this.values = new Float64Array(length);
  }

  add(at: number, change: number): void {
    this.#sum += change;
    this.#lowest = Math.min(this.#lowest, this.#sum);
    this.values[at] = this.#sum;
  }

  endAt(end: number): Float64Array {
    const base = Math.max(end - this.#sum, -this.#lowest);
    for (let i = 0; i < this.values.length; i++) this.values[i] = (this.values[i] as number) + base;
    return this.values;
  }
}

/** Levels of a device, backwards from the snapshot. Entries contain requested bytes, so inner levels lack rounding. */
export function deviceSeries(snapshot: TorchSnapshot, trace: TraceTable): DeviceSeries {
  const { length } = trace;
  const allocated = new Level(length);
  const active = new Level(length);
  const reserved = new Level(length);
  let timed = length > 0;
  for (let i = 0; i < length; i++) {
    const size = trace.size[i] as number;
    const bytes = Number.isNaN(size) ? 0 : size;
    let held = 0;
    let used = 0;
    let got = 0;
    switch (trace.action[i]) {
      case Action.alloc:
        held = bytes;
        used = bytes;
        break;
      case Action.freeRequested:
        held = -bytes;
        break;
      case Action.freeCompleted:
        used = -bytes;
        break;
      case Action.segmentAlloc:
      case Action.segmentMap:
        got = bytes;
        break;
      case Action.segmentFree:
      case Action.segmentUnmap:
        got = -bytes;
        break;
      default:
    }
    allocated.add(i, held);
    active.add(i, used);
    reserved.add(i, got);
    if (Number.isNaN(trace.time[i])) timed = false;
  }
  const end = levels(snapshot, trace.device);
  return {
    device: trace.device,
    timeUs: timed ? trace.time : null,
    allocated: allocated.endAt(end.allocated),
    active: active.endAt(end.active),
    reserved: reserved.endAt(end.reserved),
  };
}
