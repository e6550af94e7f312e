import { groupBy } from "../../core/group-by.ts";
import { AllocatorKind, HostHeapIndex, ProcessRole } from "../../sampler/record-layout.ts";
import { allocatorPools, deviceAllocators } from "../devices/device-allocators.ts";
import type { KnownPeak, RecordingInfo, SampleTable } from "../recording/model.ts";
import type { ProcessHistory } from "../recording/process-history.ts";
import {
  endedInOrder,
  type RecordedStream,
  type StepColumns,
  type StepTimeline,
  stepsAt,
  stepTimeline,
} from "../recording/recorded-streams.ts";
import { hostHeap, pythonHeap } from "./host-heap.ts";
import { LIVE_HEAPS, liveHeap } from "./live-heap.ts";

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

/** The rank of several that ended before the others and not normally. */
function earlyEnd(ends: readonly RankEnd[]): string[] {
  const [first, second] = ends;
  if (first === undefined || second === undefined || first.inOrder) return [];
  const early = second.endNs - first.endNs;
  if (early < EARLY_NS) return [];
  const seconds = (early / 1e9).toFixed(2);
  return [
    `rank ${first.rank} (process ${first.pid}) ended ${seconds} s before any other rank and without an exit record: it was probably killed`,
  ];
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
