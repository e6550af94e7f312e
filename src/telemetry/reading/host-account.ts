import { AllocatorKind, HostHeapIndex, SampleReason } from "../../sampler/record-layout.ts";
import { firstAfter, knownColumns } from "../recording/common-clock.ts";
import type { RecordFile, SharedColumns } from "../recording/record-columns.ts";
import type { RecordedStream } from "../recording/recorded-streams.ts";
import type { HeldMemory } from "./held-memory.ts";

const MAX_ROWS = 240;
/** A part that never reaches this share of the peak is not visible. */
const VISIBLE_SHARE = 0.01;

/** Of each part of the time the tick with most host memory, so that the peak is one of them. */
function highestTicks(timeNs: Float64Array, host: Float64Array): readonly number[] {
  const begin = timeNs[0] ?? 0;
  const widthNs = Math.max(1, ((timeNs.at(-1) ?? 0) - begin) / (MAX_ROWS - 1));
  const ticks: number[] = [];
  let before = -1;
  for (const [tick, bytes] of host.entries()) {
    if (Number.isNaN(bytes)) continue;
    const bin = Math.floor((timeNs[tick]! - begin) / widthNs);
    if (bin !== before) ticks.push(tick);
    else if (bytes > host[ticks.at(-1)!]!) ticks[ticks.length - 1] = tick;
    before = bin;
  }
  return ticks;
}

/** The known values of a column with their times. */
function cursor({ timeNs }: RecordedStream, column: Float64Array) {
  const rows = [...column.keys()].filter((row) => !Number.isNaN(column[row]!));
  return { timeNs: Float64Array.from(rows, (row) => timeNs[row]!), values: rows.map((row) => column[row]!) };
}

/**
 * What a heap has handed out at a time, and what it keeps beside it, free or garbage; NaN = unknown. Between two
 * collections its live set is on the line from one to the next. After the last one garbage is not known.
 */
function reader(stream: RecordedStream) {
  const isCollected = stream.index === HostHeapIndex.v8 || stream.index === HostHeapIndex.jvm;
  const live = cursor(stream, stream.allocated);
  const size = cursor(stream, stream.reserved);
  return (atNs: number) => {
    const row = firstAfter(live.timeNs, atNs) - 1;
    const total = size.values[firstAfter(size.timeNs, atNs) - 1] ?? Number.NaN;
    let used = live.values[row] ?? Number.NaN;
    if (isCollected) {
      const next = live.values[row + 1];
      if (next === undefined) return { used, kept: Number.NaN };
      const [from, to] = [live.timeNs[row]!, live.timeNs[row + 1]!];
      used += ((atNs - from) / (to - from)) * (next - used);
    }
    return { used, kept: Math.max(0, total - used) };
  };
}

/**
 * What heaps with a counter use and keep of host memory, summed over all processes, each as last read; NaN where none
 * is known. The first reading of a process whose parent has such a heap shows what it has of it after a fork: it is not
 * counted again.
 */
function heapSizes(
  { streams, processes }: Pick<RecordFile, "streams" | "processes">,
  endOf: (pid: number) => number,
  timeNs: Float64Array,
) {
  const used = new Float64Array(timeNs.length).fill(Number.NaN);
  const kept = new Float64Array(timeNs.length).fill(Number.NaN);
  const add = (sum: Float64Array, i: number, bytes: number) => {
    if (!Number.isNaN(bytes)) sum[i] = (sum[i]! || 0) + Math.max(0, Math.round(bytes));
  };
  const heaps = streams.filter(({ kind }) => kind === AllocatorKind.hostHeap);
  const pids = new Set(heaps.map(({ pid }) => pid));
  const children = new Set(processes.all.flatMap(({ pid, parent }) => (pids.has(parent) ? [pid] : [])));
  // V8 counts its buffers, which malloc allocates, too.
  const scripts = new Set(heaps.flatMap(({ pid, index }) => (index === HostHeapIndex.v8 ? [pid] : [])));
  for (const stream of heaps) {
    if (stream.index === HostHeapIndex.c && scripts.has(stream.pid)) continue;
    const read = reader(stream);
    // V8's heap ends with its thread.
    const ended = stream.index === HostHeapIndex.v8 ? stream.reasons.indexOf(SampleReason.end) : -1;
    const endNs = stream.timeNs[ended] ?? endOf(stream.pid);
    const first = children.has(stream.pid) ? read(stream.timeNs[0]!) : { used: 0, kept: 0 };
    for (let i = firstAfter(timeNs, stream.timeNs[0]! - 1); i < timeNs.length && timeNs[i]! < endNs; i++) {
      const now = read(timeNs[i]!);
      add(used, i, now.used - (first.used || 0));
      add(kept, i, now.kept - (first.kept || 0));
    }
  }
  return { used, kept };
}

/** Files in RAM that no process maps: the smaller of the readings around a time. */
function filesAt({ timeNs, charged, mapped }: SharedColumns, atNs: number): number {
  const row = firstAfter(timeNs, atNs) - 1;
  const [before, after] = [row, row + 1].map((one) => Math.max(0, charged[one]! - mapped[one]!));
  return Number.isNaN(after!) ? before! : Math.min(before!, after!);
}

/**
 * What the tree holds at some of its ticks, as parts that add up to it; NaN where a part is unknown. Heaps count what
 * they handed out, of which pages that were never touched are not held: no part exceeds what those before it leave.
 * @param endOf when a process ended, nanoseconds
 * @returns null where no part is known, or can be seen
 */
export function hostAccount(
  file: Pick<RecordFile, "streams" | "processes" | "tree" | "shared">,
  held: HeldMemory,
  endOf: (pid: number) => number,
) {
  const ticks = highestTicks(file.tree.timeNs, held.host);
  const timeNs = Float64Array.from(ticks, (tick) => file.tree.timeNs[tick]!);
  const unaccounted = Float64Array.from(ticks, (tick) => held.host[tick]!);
  const least = VISIBLE_SHARE * unaccounted.reduce((most, bytes) => Math.max(most, bytes), 0);
  const take = (bytes: Float64Array): Float64Array | null => {
    if (!bytes.some((one) => one > least)) return null;
    return bytes.map((one, i) => {
      const part = Math.min(one, unaccounted[i]!);
      unaccounted[i]! -= part || 0;
      return part;
    });
  };
  const heap = heapSizes(file, endOf, timeNs);
  const parts = knownColumns({
    shared: take(Float64Array.from(ticks, (tick) => held.shared[tick]!)),
    // The sum over processes lacks such files.
    files: held.isCorrected ? take(timeNs.map((at) => filesAt(file.shared, at))) : null,
    heap_used: take(heap.used),
    heap_kept: take(heap.kept),
  });
  return Object.keys(parts).length === 0 ? null : { timeNs, columns: { ...parts, unaccounted } };
}
