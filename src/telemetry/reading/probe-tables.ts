import { groupBy } from "../../core/group-by.ts";
import { plural } from "../../core/text.ts";
import { AllocatorKind, HostHeapIndex, ProcessRole, SampleReason } from "../../sampler/record-layout.ts";
import { allocatorPools, deviceAllocators } from "../devices/device-allocators.ts";
import { knownColumns, largestOf } from "../recording/common-clock.ts";
import type { Metric } from "../recording/metrics.ts";
import type { Column, KnownPeak, ProbeSummary, RecordingInfo, SampleTable } from "../recording/model.ts";
import type { ProcessHistory } from "../recording/process-history.ts";
import {
  endedInOrder,
  type RecordedStream,
  type StepColumns,
  type StepTimeline,
  stepsAt,
  stepTimeline,
} from "../recording/recorded-streams.ts";
import { LIVE_HEAPS, liveHeap } from "./live-heap.ts";
import { LASTING } from "./process-roles.ts";

/** Result of the probes of one run. */
export interface ProbeTables {
  readonly tables: readonly SampleTable[];
  readonly peaks: readonly KnownPeak[];
  /** World size of the processes' environment; null without one. */
  readonly worldSize: number | null;
  /** Steps of the lowest rank that counts any, for samples of the process tree. */
  readonly steps: StepTimeline | null;
  readonly lost: readonly string[];
  /** Tables that end early because a ring was lost. */
  readonly cut: readonly SampleTable[];
}

/** The records of a record file that came from probes. */
export interface ProbeRecords {
  readonly streams: readonly RecordedStream[];
  readonly pools: readonly RecordedStream[];
  readonly steps: readonly StepColumns[];
  readonly processes: ProcessHistory;
}

/** A process that ended this much earlier than the next did not end with the job, nanoseconds. */
const EARLY_NS = 60e6;

function groupByRank(streams: readonly RecordedStream[], ownRank: number): Map<number, RecordedStream[]> {
  // A launcher of ranks imports the framework as well, but does not compute.
  const computing = streams.filter(({ role }) => role !== ProcessRole.agent);
  return groupBy(computing, ({ rank }) => rank ?? ownRank);
}

/** The steps of a rank: of the process that counted the most. */
function stepsOfRank(streams: readonly RecordedStream[], steps: readonly StepColumns[]): StepTimeline | null {
  const pids = [...new Set(streams.map(({ pid }) => pid))];
  let best: StepTimeline | null = null;
  for (const pid of pids) {
    const parts = [...streams.filter((stream) => stream.pid === pid), ...steps.filter((column) => column.pid === pid)];
    const timeline = stepTimeline(parts);
    if (timeline !== null && (best === null || timeline.steps.length > best.steps.length)) best = timeline;
  }
  return best;
}

interface RankEnd {
  readonly rank: number;
  readonly pid: number;
  readonly endNs: number;
  readonly inOrder: boolean;
}

/** How each rank's own process ended. */
function rankEnds(ranks: ReadonlyMap<number, readonly RecordedStream[]>, processes: ProcessHistory): RankEnd[] {
  const exits = new Map(processes.all.map(({ pid, exitNs }) => [pid, exitNs]));
  const ends = [...ranks].flatMap(([rank, streams]) => {
    const [main] = streams
      .filter(({ role }) => role === ProcessRole.rank)
      .sort((a, b) => b.timeNs.at(-1)! - a.timeNs.at(-1)!);
    if (main === undefined) return [];
    const endNs = exits.get(main.pid) ?? main.timeNs.at(-1)!;
    return [{ rank, pid: main.pid, endNs, inOrder: endedInOrder(main) }];
  });
  return ends.sort((a, b) => a.endNs - b.endNs);
}

/**
 * The rank of several that ended before the others without an exit record, or within one reading with them and alone
 * without one.
 */
function earlyEnd(ends: readonly RankEnd[]): string[] {
  const abrupt = ends.filter(({ inOrder }) => !inOrder);
  const [first] = abrupt;
  const others = ends.filter((one) => one !== first);
  if (first === undefined || others.length === 0) return [];
  const early = Math.min(...others.map(({ endNs }) => endNs)) - first.endNs;
  const isEarly = early >= EARLY_NS;
  if (!isEarly && (abrupt.length > 1 || early < 0)) return [];
  const when = isEarly ? ` ${(early / 1e9).toFixed(2)} s before any other rank and` : "";
  return [`rank ${first.rank} (process ${first.pid}) ended${when} without an exit record: it was probably killed`];
}

/** When each process ended, or was last seen, nanoseconds. Of an unknown one it is the time of the last row. */
export function processEnds(streams: readonly RecordedStream[], { all }: ProcessHistory): (pid: number) => number {
  const last = streams.reduce((latest, { timeNs }) => Math.max(latest, timeNs.at(-1)!), 0);
  const ends = new Map(all.map(({ pid, exitNs, lastReadingNs }) => [pid, exitNs ?? lastReadingNs]));
  return (pid) => ends.get(pid) ?? last;
}

/** The live sets of the rank's collected heaps as tables of device "host"; without values where they are not known. */
function liveTables(
  rank: number,
  streams: readonly RecordedStream[],
  processes: ProcessHistory,
  timeline: StepTimeline | null,
): Pick<ProbeTables, "tables" | "lost"> {
  const tables: SampleTable[] = [];
  const lost: string[] = [];
  for (const { metric, index } of LIVE_HEAPS) {
    const own = streams.filter((stream) => stream.kind === AllocatorKind.hostHeap && stream.index === index);
    const heap = liveHeap(rank, metric, own, processEnds(own, processes));
    const seen = own.find(({ active }) => active.some((bytes) => !Number.isNaN(bytes)));
    const timeNs = heap?.timeNs ?? seen?.timeNs;
    if (timeNs === undefined) continue;
    const columns = { [metric]: heap?.bytes ?? new Float64Array(timeNs.length).fill(Number.NaN) };
    const steps = timeline === null ? null : stepsAt(timeline, timeNs);
    tables.push({ rank, device: "host", timeNs, steps, columns, highwater: new Set() });
    lost.push(...(heap?.lost ?? []));
  }
  return { tables, lost };
}

/** Tables, peaks and steps from the probes, per rank: its main process's heap ("host") and each of its devices. */
export function probeTables(
  { streams, pools, steps, processes }: ProbeRecords,
  info: RecordingInfo | null,
): ProbeTables {
  const ownRank = info?.identity.rank ?? 0;
  const ranks = new Map([...groupByRank(streams, ownRank)].sort(([a], [b]) => a - b));
  const poolsOf = groupByRank(pools, ownRank);
  const tables: SampleTable[] = [];
  const peaks: KnownPeak[] = [];
  const lost: string[] = [];
  const cut: SampleTable[] = [];
  const fileSteps = stepTimeline(steps.filter(({ pid }) => pid === -1));
  let treeSteps: StepTimeline | null = null;
  for (const [rank, own] of ranks) {
    const timeline = stepsOfRank(own, steps) ?? fileSteps;
    treeSteps ??= timeline;
    const heapStreams = (wanted: number) =>
      own.filter(({ kind, index }) => kind === AllocatorKind.hostHeap && index === wanted);
    const heap = hostHeap(rank, heapStreams(HostHeapIndex.c), timeline, info?.probe ?? null);
    const python = pythonHeap(rank, heapStreams(HostHeapIndex.python), timeline);
    const live = liveTables(rank, own, processes, timeline);
    const context = { timeline, processes, probe: info?.probe ?? null };
    const devices = deviceAllocators(
      rank,
      own.filter(({ kind }) => kind !== AllocatorKind.hostHeap),
      context,
    );
    const pooled = allocatorPools(rank, poolsOf.get(rank) ?? [], context);
    tables.push(...heap.tables, ...python.tables, ...live.tables, ...devices.tables, ...pooled);
    peaks.push(...heap.peaks, ...python.peaks, ...devices.peaks);
    // Both leave out the same processes.
    lost.push(...(heap.lost.length > 0 ? heap.lost : python.lost), ...live.lost);
    cut.push(...(heap.cut ? heap.tables : []), ...(python.cut ? python.tables : []), ...devices.cut);
  }
  // A program without memory samples may count steps all the same.
  treeSteps ??= stepTimeline(steps.filter(({ pid }) => pid !== -1)) ?? fileSteps;
  const sizes = streams.flatMap(({ worldSize }) => (worldSize === null ? [] : [worldSize]));
  return {
    tables,
    peaks,
    worldSize: sizes.length === 0 ? null : Math.max(...sizes),
    steps: treeSteps,
    lost: [...lost, ...earlyEnd(rankEnds(ranks, processes))],
    cut,
  };
}

interface HostHeap {
  readonly tables: readonly SampleTable[];
  readonly peaks: readonly KnownPeak[];
  readonly lost: readonly string[];
  /** Its process's ring was lost. */
  readonly cut: boolean;
}

/** Heaps of a rank's other processes above this share of the main one's peak are counted. */
const COUNTED_SHARE = 0.05;

const peakOf = (values: Float64Array): number => largestOf(values) ?? 0;

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

/** Whether a heap is that of most of the run. That of one of many workers that follow one another is not theirs. */
function lasts(main: RecordedStream, streams: readonly RecordedStream[]): boolean {
  const begin = streams.reduce((least, { timeNs }) => Math.min(least, timeNs[0]!), main.timeNs[0]!);
  const end = streams.reduce((most, { timeNs }) => Math.max(most, timeNs.at(-1)!), 0);
  return knowsSteps(main) || main.role === ProcessRole.rank || spanOf(main) >= LASTING * (end - begin);
}

/**
 * A rank's main process in one allocator as a table of device "host"; its peak is that of the samples. None where no
 * process lasts: host memory shows them together.
 */
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
  if (!lasts(main, streams)) {
    const lost = [`${as.name} of rank ${rank} is not known, because none of its processes lasts for half of the run`];
    return { tables: [], peaks: [], lost, cut: false };
  }
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
const hostHeap = (
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
const pythonHeap = (rank: number, streams: readonly RecordedStream[], timeline: StepTimeline | null): HostHeap =>
  heapOf(rank, streams, timeline, {
    name: "Python's own memory",
    sourceOf: () => "pymalloc",
    columns: ({ allocated, active }) => ({ python: allocated, blocks: active }),
    peaks: ["python"],
  });
