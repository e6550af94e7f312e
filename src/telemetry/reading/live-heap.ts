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
  /**
   * Evenly spaced but for stalls of the machine, ascending; one alone, that of the highest sum, where the readings are
   * too few for a curve.
   */
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
/** A Java heap is read every 50 ms. In a longer gap the gate stood still, and most likely the program too. */
const MAX_GAP_NS = 400e6;
/** Without counters there are collections alone, at least 250 ms apart. */
const MAX_MEAN_GAP_NS = 200e6;
const MIN_POINTS = 48;
const MAX_POINTS = 20_000;
/** A last reading below this share of the one before shows what the end has released. */
const RELEASED_SHARE = 0.9;
/** A larger heap that lived longer without a reading is not known, nanoseconds and bytes. */
const UNREAD_NS = 1.5e9;
const UNREAD_BYTES = 16 * 2 ** 20;
/** As for the C heap: other processes above this share of the main one are counted. */
const COUNTED_SHARE = 0.05;

const peakOf = ({ allocated }: RecordedStream): number => allocated.reduce((peak, bytes) => Math.max(peak, bytes), 0);
const largestOf = (streams: readonly RecordedStream[]): RecordedStream =>
  streams.reduce((best, stream) => (peakOf(stream) > peakOf(best) ? stream : best));
const totalOf = (streams: readonly RecordedStream[]): number =>
  streams.reduce((sum, stream) => sum + peakOf(stream), 0);

type EndOf = (pid: number) => number;

/** Adds what one isolate holds: nothing before its first reading, its last one until its process or thread ends. */
function add(stream: RecordedStream, endNs: number, timeNs: Float64Array, bytes: Float64Array): void {
  const { timeNs: at, allocated, reasons } = stream;
  let next = 0;
  for (const [i, now] of timeNs.entries()) {
    if (now > endNs) return;
    while (next < at.length && at[next]! <= now) next++;
    if (next === 0) continue;
    const before = allocated[next - 1]!;
    const ends = next === at.length || reasons[next] === SampleReason.end;
    const share = ends ? 0 : (now - at[next - 1]!) / (at[next]! - at[next - 1]!);
    bytes[i]! += ends ? before : before + share * (allocated[next]! - before);
  }
}

type Readings = Pick<LiveHeap, "timeNs" | "bytes">;

/** Times without a reading of any heap, which are left as gaps: a line through them would rest like a cache. */
function stallsOf(streams: readonly RecordedStream[]): readonly (readonly [from: number, to: number])[] {
  const at = Float64Array.from(streams.flatMap(({ timeNs }) => [...timeNs])).sort();
  if (at.at(-1)! - at[0]! > MAX_MEAN_GAP_NS * at.length) return [];
  return [...at].flatMap((to, i) => (i > 0 && to - at[i - 1]! > MAX_GAP_NS ? [[at[i - 1]!, to] as const] : []));
}

/** The sum of the heaps on even steps of time. */
function curve(
  heaps: readonly RecordedStream[],
  endOf: EndOf,
  [from, to]: readonly [number, number],
  stalls: ReturnType<typeof stallsOf>,
): Readings {
  const count = Math.min(MAX_POINTS, Math.max(MIN_POINTS, Math.ceil((to - from) / STEP_NS)));
  const even = Float64Array.from({ length: count }, (_, i) => from + (i / (count - 1)) * (to - from));
  const timeNs = even.filter((at) => !stalls.some(([begin, end]) => begin < at && at < end));
  const bytes = new Float64Array(timeNs.length);
  for (const stream of heaps) add(stream, endOf(stream.pid), timeNs, bytes);
  return { timeNs, bytes };
}

/** The highest sum of the heaps that exist at one time, from readings that are too few for a curve. */
function highest(heaps: readonly RecordedStream[], all: readonly RecordedStream[]): Readings {
  const lives = heaps.map((heap) => {
    const ended = heap.reasons.indexOf(SampleReason.end);
    return { heap, from: startOf(all, heap), to: ended < 0 ? Number.POSITIVE_INFINITY : heap.timeNs[ended]! };
  });
  let best = { atNs: 0, sum: -1 };
  for (const atNs of heaps.flatMap(({ timeNs }) => [...timeNs])) {
    let sum = 0;
    for (const { heap, from, to } of lives) {
      if (atNs < from || atNs >= to) continue;
      const row = heap.timeNs.findLastIndex((time) => time <= atNs);
      sum += heap.allocated[Math.max(0, row)]!;
    }
    if (sum > best.sum) best = { atNs, sum };
  }
  return { timeNs: Float64Array.of(best.atNs), bytes: Float64Array.of(best.sum) };
}

/** When a heap was first seen, which is before its first reading. */
const startOf = (all: readonly RecordedStream[], { id }: RecordedStream): number =>
  all.find((stream) => stream.id === id)!.timeNs[0]!;

/** Whether a heap of some size, which lived long enough for a reading, has none. */
function isUnread(stream: RecordedStream): boolean {
  const { timeNs, reserved } = stream;
  if (timeNs.at(-1)! - timeNs[0]! < UNREAD_NS || collections(stream) !== null) return false;
  return reserved.some((bytes) => bytes > UNREAD_BYTES);
}

/**
 * The rows of a stream that follow a collection; null without any. A lower last one, after a thread's work, is left
 * out: the thread has released what its work held.
 */
function collections(stream: RecordedStream): RecordedStream | null {
  const { allocated, reasons } = stream;
  const rows: number[] = [];
  let before = 0;
  for (const [row, bytes] of allocated.entries()) {
    if (Number.isNaN(bytes) || (reasons[row] === SampleReason.explicit && bytes < RELEASED_SHARE * before)) continue;
    rows.push(row);
    before = bytes;
  }
  if (rows.length === 0) return null;
  const pick = (from: Float64Array) => Float64Array.from(rows, (row) => from[row]!);
  return {
    ...stream,
    timeNs: pick(stream.timeNs),
    allocated: pick(allocated),
    reasons: Uint8Array.from(rows, (row) => reasons[row]!),
  };
}

/**
 * The collected heap of a rank. JavaScript heaps are those of the process with the largest, summed over its isolates,
 * or of all processes where every row follows a collection: all of them collect all the time then, in a run whose heap
 * no baseline has. Java heaps are those of all processes, because builds and tests fork virtual machines.
 * @param all streams of the heap in the rank  @param endOf when a process ended, nanoseconds
 * @returns null when too few collections were seen, or none in the last part of the process. One at its end is enough
 *   for the highest sum
 */
export function liveHeap(
  rank: number,
  metric: (typeof LIVE_HEAPS)[number]["metric"],
  all: readonly RecordedStream[],
  endOf: EndOf,
): LiveHeap | null {
  const streams = all.flatMap((stream) => collections(stream) ?? []);
  const isForced = metric === "js_heap" && all.every(({ allocated }) => !allocated.some(Number.isNaN));
  const groups = groupBy(streams, ({ pid }) => (metric === "js_heap" && !isForced ? pid : 0));
  const processes = [...groups.values()].sort((a, b) => totalOf(b) - totalOf(a));
  const [main] = processes;
  if (main === undefined) return null;
  const largest = largestOf(main);
  if (metric === "js_heap" && all.some((stream) => stream.pid === largest.pid && isUnread(stream))) return null;
  const from = Math.min(...main.map(({ timeNs }) => timeNs[0]!));
  // Workers that follow one another have readings until the last one ends.
  const covering = isForced ? main : [largest];
  const count = covering.reduce((sum, { timeNs: at }) => sum + at.length, 0);
  // The row that follows the end of a process or thread shows no collection.
  const lastRows = covering.map(({ timeNs: at, reasons }) => at.at(reasons.at(-1) === SampleReason.end ? -2 : -1));
  const to = Math.max(...lastRows.map((atNs) => atNs ?? from));
  const end = Math.max(...covering.map(({ pid }) => endOf(pid)));
  const isCurve = count >= MIN_READINGS && to - from >= MIN_COVERED * (end - from);
  if (!isCurve && !largest.reasons.includes(SampleReason.explicit)) return null;
  const stalls = metric === "jvm_heap" ? stallsOf(all) : [];
  const { timeNs, bytes } = isCurve ? curve(main, endOf, [from, to], stalls) : highest(main, all);
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
 * process, NaN while its size is not known. Null where that of one is never known, and without any heap.
 * @param endOf when a process ended, nanoseconds  @param timeNs ascending
 */
export function heldByHeaps(
  streams: readonly RecordedStream[],
  endOf: EndOf,
  timeNs: Float64Array,
): Float64Array | null {
  const heaps = streams.filter(
    ({ kind, index }) => kind === AllocatorKind.hostHeap && LIVE_HEAPS.some((heap) => heap.index === index),
  );
  const isSized = ({ reserved }: RecordedStream) => reserved.some((bytes) => !Number.isNaN(bytes));
  if (heaps.length === 0 || !heaps.every(isSized)) return null;
  const held = new Float64Array(timeNs.length);
  for (const { pid, timeNs: at, reserved, active } of heaps) {
    const endNs = endOf(pid);
    let bytes = 0;
    for (let i = 0, next = 0; i < timeNs.length && timeNs[i]! < endNs; i++) {
      for (; next < at.length && at[next]! <= timeNs[i]!; next++) {
        // A row with what objects take alone is one at which the size was not known.
        if (!Number.isNaN(reserved[next]!) || !Number.isNaN(active[next]!)) bytes = reserved[next]!;
      }
      held[i]! += bytes;
    }
  }
  return held;
}
