import { groupBy } from "../../core/group-by.ts";
import { plural } from "../../core/text.ts";
import { AllocatorKind, HostHeapIndex, SampleReason } from "../../sampler/record-layout.ts";
import { metricNoun } from "../recording/metrics.ts";
import type { RecordedStream } from "../recording/recorded-streams.ts";

// Streams of a collected heap have what a full collection left as `allocated`, in the rows that follow one, and what
// the heap takes of the host, garbage included, as `reserved`. A row with `active` alone shows that the heap exists.

/** Metrics of collected heaps, with the index of their streams. */
export const LIVE_HEAPS = [
  { metric: "js_heap", index: HostHeapIndex.v8 },
  { metric: "jvm_heap", index: HostHeapIndex.jvm },
] as const;

/** What the heaps of one process hold after collections, from the first reading to the last one. */
export interface LiveHeap {
  /** Evenly spaced, ascending. */
  readonly timeNs: Float64Array;
  /** What full collections left in all heaps, bytes; between two of them on the line from one to the next. */
  readonly bytes: Float64Array;
  /** Other processes with heaps worth mentioning. */
  readonly lost: readonly string[];
}

/** Fewer readings are no curve. */
const MIN_READINGS = 4;
/** The last reading must lie behind this share of the process's time. What came later is not known. */
const MIN_COVERED = 0.6;
const STEP_NS = 50e6;
const MIN_POINTS = 48;
const MAX_POINTS = 20_000;
/** As for the C heap: other processes above this share of the main one are counted. */
const COUNTED_SHARE = 0.05;

const peakOf = ({ allocated }: RecordedStream): number => allocated.reduce((peak, bytes) => Math.max(peak, bytes), 0);
const largestOf = (streams: readonly RecordedStream[]): RecordedStream =>
  streams.reduce((best, stream) => (peakOf(stream) > peakOf(best) ? stream : best));
const totalOf = (streams: readonly RecordedStream[]): number =>
  streams.reduce((sum, stream) => sum + peakOf(stream), 0);

/** Adds what one isolate holds: nothing before its first reading, its last one for ever, 0 after its thread's end. */
function add(stream: RecordedStream, timeNs: Float64Array, bytes: Float64Array): void {
  const { timeNs: at, allocated, reasons } = stream;
  let next = 0;
  for (const [i, now] of timeNs.entries()) {
    while (next < at.length && at[next]! <= now) next++;
    if (next === 0) continue;
    const before = allocated[next - 1]!;
    const ends = next === at.length || reasons[next] === SampleReason.end;
    const share = ends ? 0 : (now - at[next - 1]!) / (at[next]! - at[next - 1]!);
    bytes[i]! += ends ? before : before + share * (allocated[next]! - before);
  }
}

/** The rows of a stream that follow a collection; null without any. */
function collections(stream: RecordedStream): RecordedStream | null {
  const rows = [...stream.allocated.keys()].filter((row) => !Number.isNaN(stream.allocated[row]!));
  if (rows.length === 0) return null;
  const pick = (from: Float64Array) => Float64Array.from(rows, (row) => from[row]!);
  const reasons = Uint8Array.from(rows, (row) => stream.reasons[row]!);
  return { ...stream, timeNs: pick(stream.timeNs), allocated: pick(stream.allocated), reasons };
}

/**
 * The collected heap of a rank. JavaScript heaps are those of the process with the largest, summed over its isolates;
 * Java heaps are those of all processes, because builds and tests fork virtual machines.
 * @param all streams of the heap in the rank  @param endOf when a process ended, nanoseconds
 * @returns null when too few collections were seen, or none in the last part of the process
 */
export function liveHeap(
  rank: number,
  metric: (typeof LIVE_HEAPS)[number]["metric"],
  all: readonly RecordedStream[],
  endOf: (pid: number) => number,
): LiveHeap | null {
  const streams = all.flatMap((stream) => collections(stream) ?? []);
  const groups = groupBy(streams, ({ pid }) => (metric === "js_heap" ? pid : 0));
  const processes = [...groups.values()].sort((a, b) => totalOf(b) - totalOf(a));
  const [main] = processes;
  if (main === undefined) return null;
  const largest = largestOf(main);
  const from = Math.min(...main.map(({ timeNs }) => timeNs[0]!));
  // The row that follows the end of a process shows no collection.
  const to = largest.timeNs.at(largest.reasons.at(-1) === SampleReason.end ? -2 : -1) ?? from;
  if (largest.timeNs.length < MIN_READINGS || !(to - from >= MIN_COVERED * (endOf(largest.pid) - from))) return null;
  const count = Math.min(MAX_POINTS, Math.max(MIN_POINTS, Math.ceil((to - from) / STEP_NS)));
  const timeNs = Float64Array.from({ length: count }, (_, i) => from + (i / (count - 1)) * (to - from));
  const bytes = new Float64Array(count);
  for (const stream of main) add(stream, timeNs, bytes);
  const counted = processes.slice(1).filter((own) => totalOf(own) > COUNTED_SHARE * totalOf(main)).length;
  const others = plural(counted, "other process", "other processes");
  const noun = metricNoun(metric);
  return {
    timeNs: timeNs.map(Math.round),
    bytes: bytes.map(Math.round),
    lost: counted === 0 ? [] : [`the ${noun} of rank ${rank} is that of its main process, without ${others}`],
  };
}

/**
 * What collected heaps take of the host at each time, garbage included: each from its first reading to the end of its
 * process. Null where a heap was seen whose size is not known, and without any.
 * @param endOf when a process ended, nanoseconds  @param timeNs ascending
 */
export function heldByHeaps(
  streams: readonly RecordedStream[],
  endOf: (pid: number) => number,
  timeNs: Float64Array,
): Float64Array | null {
  const heaps = streams.filter(
    ({ kind, index }) => kind === AllocatorKind.hostHeap && LIVE_HEAPS.some((heap) => heap.index === index),
  );
  const isSized = ({ reserved }: RecordedStream) => reserved.some((bytes) => !Number.isNaN(bytes));
  if (heaps.length === 0 || !heaps.every(isSized)) return null;
  const held = new Float64Array(timeNs.length);
  for (const { pid, timeNs: at, reserved } of heaps) {
    const endNs = endOf(pid);
    let bytes = 0;
    for (let i = 0, next = 0; i < timeNs.length && timeNs[i]! < endNs; i++) {
      for (; next < at.length && at[next]! <= timeNs[i]!; next++) {
        if (!Number.isNaN(reserved[next]!)) bytes = reserved[next]!;
      }
      held[i]! += bytes;
    }
  }
  return held;
}
