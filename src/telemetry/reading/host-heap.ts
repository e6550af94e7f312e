import { plural } from "../../core/text.ts";
import { ProcessRole, SampleReason } from "../../sampler/record-layout.ts";
import { knownColumns } from "../recording/common-clock.ts";
import type { Metric } from "../recording/metrics.ts";
import type { Column, KnownPeak, ProbeSummary, SampleTable } from "../recording/model.ts";
import type { RecordedStream } from "../recording/recorded-streams.ts";
import { type StepTimeline, stepsAt, stepTimeline } from "../recording/recorded-streams.ts";
import { LASTING } from "./process-roles.ts";

export interface HostHeap {
  readonly tables: readonly SampleTable[];
  readonly peaks: readonly KnownPeak[];
  readonly lost: readonly string[];
  /** Its process's ring was lost. */
  readonly cut: boolean;
}

/** Heaps of a rank's other processes above this share of the main one's peak are counted. */
const COUNTED_SHARE = 0.05;

/** Largest known value; 0 when there is none. */
function peakOf(values: Float64Array): number {
  let peak = 0;
  for (const value of values) if (value > peak) peak = value;
  return peak;
}

const stepRows = (stream: RecordedStream): number =>
  stream.reasons.reduce((count, reason) => count + Number(reason === SampleReason.step), 0);
const knowsSteps = (stream: RecordedStream): boolean => stream.steps.some((step) => !Number.isNaN(step));

const spanOf = ({ timeNs }: RecordedStream): number => (timeNs.at(-1) ?? 0) - (timeNs[0] ?? 0);

/**
 * The rank's main process: the one that counts steps, else its own rather than a child, else one that lives for most of
 * the time, the largest heap of these.
 */
function mainOf(streams: readonly RecordedStream[]): RecordedStream | undefined {
  const longest = streams.reduce((most, stream) => Math.max(most, spanOf(stream)), 0);
  const order = (stream: RecordedStream): readonly number[] => [
    Number(knowsSteps(stream)),
    Number(stream.role === ProcessRole.rank),
    Number(stream.role !== ProcessRole.child),
    Number(spanOf(stream) >= LASTING * longest),
    peakOf(stream.allocated),
    stream.timeNs.length,
  ];
  return [...streams].sort((a, b) => {
    const [x, y] = [order(a), order(b)];
    for (const [i, value] of x.entries()) if (value !== y[i]) return y[i]! - value;
    return a.id - b.id;
  })[0];
}

/** The same sentence for every run of a program: it has no process numbers and no sizes. */
function othersCounted(name: string, rank: number, main: RecordedStream, streams: readonly RecordedStream[]): string[] {
  const own = peakOf(main.allocated);
  // One process has several streams if it replaced its program or loaded two probes.
  const perPid = new Map<number, number>();
  for (const { pid, allocated } of streams) {
    if (pid !== main.pid) perPid.set(pid, Math.max(perPid.get(pid) ?? 0, peakOf(allocated)));
  }
  const large = [...perPid.values()].filter((peak) => peak > COUNTED_SHARE * own).length;
  if (large === 0) return [];
  return [
    `${name} of rank ${rank} is that of its main process, without ${plural(large, "other process", "other processes")}`,
  ];
}

/** A rank's main process in one allocator as a table of device "host"; its peak is that of the samples. */
function heapOf(
  rank: number,
  streams: readonly RecordedStream[],
  timeline: StepTimeline | null,
  as: {
    readonly name: string;
    readonly sourceOf: (main: RecordedStream) => string;
    readonly columns: (main: RecordedStream) => Partial<Record<Column, Float64Array>>;
    readonly peaks: readonly Metric[];
  },
): HostHeap {
  const main = mainOf(streams);
  if (main === undefined) return { tables: [], peaks: [], lost: [], cut: false };
  const columns = as.columns(main);
  const counted = stepTimeline([main]) ?? timeline;
  const steps = counted === null ? null : stepsAt(counted, main.timeNs);
  const table: SampleTable = {
    rank,
    device: "host",
    timeNs: main.timeNs,
    steps,
    columns,
    highwater: new Set(),
    ...(stepRows(main) > 0 ? { atStep: main.reasons.map((reason) => Number(reason === SampleReason.step)) } : {}),
  };
  const peaks = as.peaks.flatMap((metric): KnownPeak[] => {
    const bytes = peakOf(columns[metric] ?? new Float64Array());
    return bytes > 0 ? [{ rank, device: "host", metric, bytes, kind: "sampled", source: as.sourceOf(main) }] : [];
  });
  return { tables: [table], peaks, lost: othersCounted(as.name, rank, main, streams), cut: main.cut };
}

/** The C heap of a rank. */
export const hostHeap = (
  rank: number,
  streams: readonly RecordedStream[],
  timeline: StepTimeline | null,
  probe: ProbeSummary | null,
): HostHeap =>
  heapOf(rank, streams, timeline, {
    name: "the heap",
    sourceOf: ({ pid }) => {
      const counter = probe?.processes.find((process) => process.pid === pid)?.heap ?? null;
      return counter === null || counter.startsWith("none:") ? "mallinfo2" : counter;
    },
    // Mimalloc does not count what is in use.
    columns: ({ allocated, reserved }) => knownColumns({ allocated, reserved }),
    peaks: ["allocated", "reserved"],
  });

/** What CPython's own allocator has handed out in a rank, and the number of its blocks. */
export const pythonHeap = (rank: number, streams: readonly RecordedStream[], timeline: StepTimeline | null): HostHeap =>
  heapOf(rank, streams, timeline, {
    name: "Python's own memory",
    sourceOf: () => "pymalloc",
    columns: ({ allocated, active }) => ({ python: allocated, blocks: active }),
    peaks: ["python"],
  });
