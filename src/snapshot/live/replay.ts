import { Action, State } from "../model/keys.ts";
import type { TorchSnapshot, TraceTable } from "../model/snapshot.ts";

/** Memory levels of one device over its trace: after each entry, in bytes. */
export interface DeviceSeries {
  readonly device: number;
  /** Microseconds of the wall clock; null where the entries have none. */
  readonly timeUs: Float64Array | null;
  readonly allocated: Float64Array;
  readonly active: Float64Array;
  readonly reserved: Float64Array;
  /** Where allocated exceeds reserved memory, which no allocator can do: the trace is damaged. Null for a sound one. */
  readonly impossible: { readonly allocated: number; readonly reserved: number } | null;
}

/** Bytes of a device at the time of the snapshot. */
function levels(
  { segments, blocks }: TorchSnapshot,
  device: number,
): {
  readonly allocated: number;
  readonly active: number;
  readonly reserved: number;
  /** Of {@link allocated}, at most this much is rounding, which no trace entry contains. */
  readonly rounding: number;
} {
  let allocated = 0;
  let rounding = 0;
  let active = 0;
  let reserved = 0;
  for (let i = 0; i < segments.count; i++) {
    if (segments.device[i] !== device) continue;
    reserved += segments.totalSize[i] as number;
    for (let b = segments.firstBlock[i] as number; b < (segments.firstBlock[i + 1] as number); b++) {
      const size = blocks.size[b] as number;
      if (blocks.state[b] === State.allocated) {
        allocated += size;
        rounding += size - (Number.isNaN(blocks.requested[b]) ? 0 : (blocks.requested[b] as number));
      }
      if (blocks.state[b] !== State.inactive) active += size;
    }
  }
  return { allocated, active, reserved, rounding };
}

/** Bytes reserved on a device at the time of the snapshot. */
export function reservedBytes(snapshot: TorchSnapshot, device: number): number {
  return levels(snapshot, device).reserved;
}

/** A running sum that ends at `end` and is never negative. */
class RunningSum {
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

/**
 * Whether a `free_completed` frees an allocation too, entry by entry. PyTorch records `free_requested` first, then the
 * block may still be in use by other streams. Some tools record `free_completed` alone.
 */
export function freesAllocation({ action, addr, length }: TraceTable): (entry: number) => boolean {
  let requests = 0;
  let completions = 0;
  for (let i = 0; i < length; i++) {
    if (action[i] === Action.freeRequested) requests++;
    else if (action[i] === Action.freeCompleted) completions++;
  }
  if (requests === 0) return () => true;
  // Each has its request, except those from before the ring's oldest entry, which are no allocations within it.
  if (requests >= completions) return () => false;
  const held = new Set<number>();
  return (entry) => {
    const address = addr[entry] as number;
    if (action[entry] === Action.alloc) held.add(address);
    return action[entry] !== Action.alloc && held.delete(address) && action[entry] === Action.freeCompleted;
  };
}

/**
 * The entry with the largest excess of allocated over reserved memory.
 * @param rounding bytes by which allocated memory is too high where it is counted back from rounded blocks
 */
function impossibleLevel(
  allocated: Float64Array,
  reserved: Float64Array,
  rounding: number,
): DeviceSeries["impossible"] {
  let worst = -1;
  let excess = rounding;
  let anyReserved = false;
  for (let i = 0; i < allocated.length; i++) {
    if ((reserved[i] as number) > 0) anyReserved = true;
    const over = (allocated[i] as number) - (reserved[i] as number);
    if (over > excess) [worst, excess] = [i, over];
  }
  // Without segments, as some backends have none, reserved memory is not known.
  if (worst < 0 || !anyReserved) return null;
  return { allocated: allocated[worst] as number, reserved: reserved[worst] as number };
}

/** Levels of a device, backwards from the snapshot. Entries contain requested bytes, so inner levels lack rounding. */
export function deviceSeries(snapshot: TorchSnapshot, trace: TraceTable): DeviceSeries {
  const { length } = trace;
  const allocated = new RunningSum(length);
  const active = new RunningSum(length);
  const reserved = new RunningSum(length);
  const freesToo = freesAllocation(trace);
  let timed = length > 0;
  for (let i = 0; i < length; i++) {
    const size = trace.size[i] as number;
    const bytes = Number.isNaN(size) ? 0 : size;
    let held = 0;
    let used = 0;
    let got = 0;
    const freed = freesToo(i);
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
        if (freed) held = -bytes;
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
  const levelOf = { allocated: allocated.endAt(end.allocated), reserved: reserved.endAt(end.reserved) };
  return {
    device: trace.device,
    timeUs: timed ? trace.time : null,
    ...levelOf,
    active: active.endAt(end.active),
    impossible: impossibleLevel(levelOf.allocated, levelOf.reserved, end.rounding),
  };
}
