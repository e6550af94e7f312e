import { groupBy } from "../../core/group-by.ts";
import { plural } from "../../core/text.ts";
import { SampleReason } from "../../sampler/record-layout.ts";
import type { RecordedStream } from "../recording/recorded-streams.ts";

/** What the JavaScript heaps of one process hold after collections, from the first reading to the last one. */
export interface JsHeap {
  /** Evenly spaced, ascending. */
  readonly timeNs: Float64Array;
  /** What full collections left in all isolates, bytes; between two of them on the line from one to the next. */
  readonly bytes: Float64Array;
  /** Other processes with JavaScript heaps worth mentioning. */
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

/**
 * The JavaScript heap of a rank: of its process with the largest, summed over its isolates.
 * @param streams V8's streams of the rank  @param endOf when a process ended, nanoseconds
 * @returns null when too few collections were seen, or none in the last part of the process
 */
export function jsHeap(
  rank: number,
  streams: readonly RecordedStream[],
  endOf: (pid: number) => number,
): JsHeap | null {
  const processes = [...groupBy(streams, ({ pid }) => pid).values()].sort((a, b) => totalOf(b) - totalOf(a));
  const [main] = processes;
  if (main === undefined) return null;
  const largest = largestOf(main);
  const from = Math.min(...main.map(({ timeNs }) => timeNs[0]!));
  const to = largest.timeNs.at(-1)!;
  if (largest.timeNs.length < MIN_READINGS || !(to - from >= MIN_COVERED * (endOf(largest.pid) - from))) return null;
  const count = Math.min(MAX_POINTS, Math.max(MIN_POINTS, Math.ceil((to - from) / STEP_NS)));
  const timeNs = Float64Array.from({ length: count }, (_, i) => from + (i / (count - 1)) * (to - from));
  const bytes = new Float64Array(count);
  for (const stream of main) add(stream, timeNs, bytes);
  const counted = processes.slice(1).filter((own) => totalOf(own) > COUNTED_SHARE * totalOf(main)).length;
  const others = plural(counted, "other process", "other processes");
  return {
    timeNs: timeNs.map(Math.round),
    bytes: bytes.map(Math.round),
    lost: counted === 0 ? [] : [`the JavaScript heap of rank ${rank} is that of its main process, without ${others}`],
  };
}
