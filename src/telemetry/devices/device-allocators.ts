import { groupBy } from "../../core/group-by.ts";
import { AllocatorKind, SampleReason } from "../../sampler/record-layout.ts";
import { knownColumns } from "../recording/common-clock.ts";
import type { Column, KnownPeak, ProbeSummary, SampleTable } from "../recording/model.ts";
import { probeDeviceName } from "../recording/probe-devices.ts";
import type { ProcessHistory } from "../recording/process-history.ts";
import {
  endedInOrder,
  type RecordedStream,
  type StepTimeline,
  stepsAt,
  stepTimeline,
} from "../recording/recorded-streams.ts";

export interface AllocatorContext {
  /** Steps of the rank. */
  readonly timeline: StepTimeline | null;
  readonly processes: ProcessHistory;
  readonly probe: ProbeSummary | null;
}

const LEVELS = ["allocated", "reserved", "active"] as const;

/** The call that returns the peak counter; null where a framework has none. */
const PEAK_SOURCES: Readonly<Record<AllocatorKind, Readonly<Record<"allocated" | "reserved", string>> | null>> = {
  [AllocatorKind.hostHeap]: null,
  [AllocatorKind.cuda]: { allocated: "max_memory_allocated", reserved: "max_memory_reserved" },
  [AllocatorKind.mps]: { allocated: "mps peak", reserved: "mps peak" },
  [AllocatorKind.xpu]: { allocated: "max_memory_allocated", reserved: "max_memory_reserved" },
  [AllocatorKind.tensorflow]: { allocated: "get_memory_info peak", reserved: "get_memory_info peak" },
  [AllocatorKind.jax]: { allocated: "memory_stats peak_bytes_in_use", reserved: "memory_stats peak" },
};

/** When a stream's memory was released: its process's exit, else its last sample. */
function endOf(stream: RecordedStream, processes: ProcessHistory): number {
  const firstNs = stream.timeNs[0]!;
  const lastNs = stream.timeNs.at(-1)!;
  if (endedInOrder(stream)) return lastNs;
  for (const { pid, startNs, exitNs } of processes.all) {
    if (pid === stream.pid && startNs <= firstNs && exitNs !== null && exitNs >= lastNs) return exitNs;
  }
  return lastNs;
}

/** Several allocators on one device: each keeps its last sample until its process ends, and they are added. */
function summed(streams: readonly RecordedStream[], processes: ProcessHistory): Omit<SampleTable, "rank" | "device"> {
  const rows = streams
    .flatMap((stream, s) => Array.from(stream.timeNs, (timeNs, row) => ({ timeNs, s, row })))
    .sort((a, b) => a.timeNs - b.timeNs || a.s - b.s);
  const ends = streams.map((stream) => endOf(stream, processes));
  const held: number[] = streams.map(() => -1);
  const sums = LEVELS.map(() => new Float64Array(rows.length));
  const steps = new Float64Array(rows.length).fill(Number.NaN);
  const atStep = new Uint8Array(rows.length);
  for (const [i, { timeNs, s, row }] of rows.entries()) {
    held[s] = row;
    for (const [k, level] of LEVELS.entries()) {
      let sum = 0;
      for (const [other, stream] of streams.entries()) {
        const at = held[other]!;
        if (at >= 0 && (other === s || timeNs <= ends[other]!)) sum += stream[level][at]!;
      }
      sums[k]![i] = sum;
    }
    steps[i] = streams[s]!.steps[row]!;
    if (streams[s]!.reasons[row] === SampleReason.step) atStep[i] = 1;
  }
  const columns: Partial<Record<Column, Float64Array>> = {};
  for (const [k, level] of LEVELS.entries()) columns[level] = sums[k]!;
  return { timeNs: Float64Array.from(rows, ({ timeNs }) => timeNs), steps, columns, highwater: new Set(), atStep };
}

function single(stream: RecordedStream): Omit<SampleTable, "rank" | "device"> {
  return {
    timeNs: stream.timeNs,
    steps: stream.steps,
    columns: { allocated: stream.allocated, reserved: stream.reserved, active: stream.active },
    highwater: new Set(),
    atStep: stream.reasons.map((reason) => Number(reason === SampleReason.step)),
  };
}

/** Without columns and step marks that have no values; steps of the rank where the rows have none. */
function tidied(table: SampleTable, timeline: StepTimeline | null): SampleTable {
  const { atStep, steps, ...rest } = table;
  const { allocated } = table.columns;
  const columns = { ...(allocated && { allocated }), ...knownColumns(table.columns) };
  const { timeNs } = rest;
  const counted = (timeNs !== null && steps !== null ? stepTimeline([{ timeNs, steps }]) : null) ?? timeline;
  const taken = timeNs === null || counted === null ? null : stepsAt(counted, timeNs);
  return { ...rest, columns, steps: taken, ...(atStep?.some((mark) => mark === 1) ? { atStep } : {}) };
}

function overlap(streams: readonly RecordedStream[], processes: ProcessHistory): boolean {
  const spans = streams
    .map((stream) => ({ from: stream.timeNs[0]!, to: endOf(stream, processes) }))
    .sort((a, b) => a.from - b.from);
  return spans.some(({ from }, i) => i > 0 && from < spans[i - 1]!.to);
}

/** Allocator marks: exact if they never shared the device, were read to their end and not reset, else a lower bound. */
function allocatorPeaks(
  rank: number,
  device: string,
  streams: readonly RecordedStream[],
  processes: ProcessHistory,
): KnownPeak[] {
  const shared = overlap(streams, processes);
  return (["allocated", "reserved"] as const).flatMap((metric): KnownPeak[] => {
    const marked = streams.filter(({ marks }) => marks[metric] > 0);
    const highest = marked.sort((a, b) => b.marks[metric] - a.marks[metric])[0];
    const source = highest === undefined ? undefined : PEAK_SOURCES[highest.kind]?.[metric];
    if (highest === undefined || source === undefined) return [];
    const sound = streams.every((stream) => !stream.peaksReset && endedInOrder(stream));
    const reset = streams.some(({ peaksReset }) => peaksReset) ? ", reset during the run" : "";
    return [
      {
        rank,
        device,
        metric,
        bytes: highest.marks[metric],
        kind: !shared && sound ? "exact" : "sampled",
        source: `${source}${reset}`,
      },
    ];
  });
}

/** What the allocators of one rank's devices cannot release, and what they reserve for graphs: a table for each. */
export function allocatorPools(
  rank: number,
  pools: readonly RecordedStream[],
  context: AllocatorContext,
): SampleTable[] {
  return deviceAllocators(rank, pools, context).tables.map((table) => {
    const { allocated: fragmentation, reserved: graphs } = table.columns;
    const columns = knownColumns({ fragmentation });
    return { ...table, columns: graphs === undefined ? columns : { ...columns, graph_pools: graphs } };
  });
}

/** The allocators of one rank's devices, one table for each device. */
export function deviceAllocators(
  rank: number,
  streams: readonly RecordedStream[],
  { timeline, processes, probe }: AllocatorContext,
): {
  readonly tables: readonly SampleTable[];
  readonly peaks: readonly KnownPeak[];
  /** The tables to which a process contributed whose ring was lost. */
  readonly cut: readonly SampleTable[];
} {
  const devices = groupBy(streams, (stream) => probeDeviceName(stream, probe));
  const tables: SampleTable[] = [];
  const peaks: KnownPeak[] = [];
  const cut: SampleTable[] = [];
  for (const [device, own] of [...devices].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [only] = own;
    const rows = own.length === 1 && only !== undefined ? single(only) : summed(own, processes);
    const table = tidied({ rank, device, ...rows }, timeline);
    tables.push(table);
    if (own.some((stream) => stream.cut)) cut.push(table);
    peaks.push(...allocatorPeaks(rank, device, own, processes));
  }
  return { tables, peaks, cut };
}
