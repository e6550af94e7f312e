import { AllocatorKind, HostHeapIndex } from "../../sampler/record-layout.ts";
import type { SourceReport } from "../../sampler/sampler.ts";
import type { ProbeInfo } from "../../telemetry/reading/probe-info.ts";
import { KIND_NAMES } from "../../telemetry/recording/probe-devices.ts";
import type { RecordedStream } from "../../telemetry/recording/recorded-streams.ts";
import type { PythonUse } from "../environment/python-flags.ts";

/** Everything the probes of a finished run left. */
export interface ProbeTraces {
  readonly infos: readonly ProbeInfo[];
  /** Empty when the record file could not be read back. */
  readonly streams: readonly RecordedStream[];
  /** Steps were seen at all: by a probe or in the step file. */
  readonly stepsSeen: boolean;
}

/** Why the probe attached to no process. */
function unattached(use: PythonUse, missing: string | null): string {
  if (missing !== null) return missing;
  switch (use.kind) {
    case "isolated":
      return `python ${use.flag}: the interpreter ignores what loads the probe`;
    case "python":
      return "no Python process loaded it: one may run with -I, -E or -S, or in an environment that was cleaned";
    case "none":
      return "no Python process was seen; STORMLOG_GATE_HEAP=preload in the scenario's env records the heap of other programs";
    default:
      return use satisfies never;
  }
}

const distinct = (names: readonly string[]): string[] => [...new Set(names)].sort();

/** The entry of the probe among a recording's sources. */
export function probeSource(
  { infos, streams: all, stepsSeen }: ProbeTraces,
  use: PythonUse,
  missing: string | null,
): SourceReport {
  // Of a Node program that did not collect, only the size of its heap is known.
  const streams = all.filter(({ index, allocated }) => index !== HostHeapIndex.v8 || !allocated.every(Number.isNaN));
  const processes = infos.map(({ process }) => process);
  if (processes.length === 0 && streams.length === 0) {
    const capabilities = stepsSeen ? ["steps"] : [];
    return { name: "probe", available: false, reason: unattached(use, missing), capabilities };
  }
  const frameworks = distinct(processes.flatMap(({ framework }) => (framework === null ? [] : [framework])));
  const devices = distinct(streams.flatMap(({ kind }) => (kind === AllocatorKind.hostHeap ? [] : [KIND_NAMES[kind]])));
  const hostHeap = (own: number): boolean =>
    streams.some(({ kind, index }) => kind === AllocatorKind.hostHeap && index === own);
  const heap = hostHeap(HostHeapIndex.c);
  const peaks = streams.some(({ marks }) => marks.allocated > 0);
  const errors = distinct(processes.flatMap(({ error }) => (error === null ? [] : [error])));
  const noHeap = processes.find((process) => process.heap?.startsWith("none:"))?.heap?.slice("none:".length);
  const noPython = processes.find((process) => process.python_heap?.startsWith("none:"))?.python_heap?.slice(5);
  const python = hostHeap(HostHeapIndex.python);
  const notes = [
    ...(frameworks.length === 0 && heap ? ["no framework was imported, so only the heap is recorded"] : []),
    ...(!heap && noHeap !== undefined ? [`the heap is not recorded: ${noHeap}`] : []),
    ...(!python && noPython !== undefined ? [`Python's own memory is not recorded: ${noPython}`] : []),
    ...errors.slice(0, 3),
  ];
  return {
    name: "probe",
    available: true,
    reason: notes.length === 0 ? null : notes.join("; "),
    capabilities: [
      ...frameworks,
      ...devices.filter((name) => !frameworks.includes(name)),
      ...(heap ? ["heap"] : []),
      ...(python ? ["python-heap"] : []),
      ...(hostHeap(HostHeapIndex.v8) ? ["js-heap"] : []),
      ...(hostHeap(HostHeapIndex.jvm) ? ["jvm-heap"] : []),
      ...(stepsSeen ? ["steps"] : []),
      ...(peaks ? ["exact-peaks"] : []),
    ],
  };
}

/** Known errors in the numbers of the probes. */
export function probeCaveats({ infos, streams }: ProbeTraces): string[] {
  const named = (wanted: (info: ProbeInfo) => boolean): string => {
    const pids = infos.filter(wanted).map(({ process }) => String(process.pid));
    return pids.length > 3 ? `${pids.slice(0, 3).join(", ")} and ${pids.length - 3} more` : pids.join(", ");
  };
  const caveats: string[] = [];
  if (infos.some(({ traceml }) => traceml)) {
    caveats.push(
      `TraceML runs in process ${named(({ traceml }) => traceml)} and sets the allocator's peak counters back at every step: its peaks are sampled`,
    );
  }
  const reset = streams.some(({ peaksReset }) => peaksReset);
  const other = (info: ProbeInfo): boolean => info.peaksReset && !info.traceml;
  if (infos.some(other)) {
    caveats.push(`process ${named(other)} set the allocator's peak counters back: its peaks are sampled`);
  } else if (reset && caveats.length === 0) {
    const pids = distinct(streams.flatMap(({ peaksReset, pid }) => (peaksReset ? [String(pid)] : [])));
    caveats.push(`process ${pids.join(", ")} set the allocator's peak counters back: its peaks are sampled`);
  }
  return caveats;
}
