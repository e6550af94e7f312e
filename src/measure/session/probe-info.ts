import { AllocatorKind, HostHeapIndex } from "../../sampler/record-layout.ts";
import type { DeviceReport, SourceReport } from "../../sampler/sampler.ts";
import type { GapMarks } from "../../telemetry/devices/device-gap.ts";
import { finishedDevices } from "../../telemetry/devices/recorded-devices.ts";
import { probeSummary, readProbeInfos } from "../../telemetry/reading/probe-files.ts";
import type { ProbeInfo } from "../../telemetry/reading/probe-info.ts";
import { withPhases } from "../../telemetry/reading/probe-phases.ts";
import { withSeenRanks } from "../../telemetry/reading/shard-identity.ts";
import type { RecordingInfo } from "../../telemetry/recording/model.ts";
import { KIND_NAMES } from "../../telemetry/recording/probe-devices.ts";
import type { RecordFile } from "../../telemetry/recording/record-columns.ts";
import type { RecordedStream } from "../../telemetry/recording/recorded-streams.ts";
import { completedFingerprint } from "../environment/probe-fingerprint.ts";
import type { PythonUse } from "../environment/python-flags.ts";
import { withDriverIndex, withListedDevices } from "./device-owners.ts";

/** How the probe was brought to the command; "off" when it was not. */
export type ProbeSetup =
  | { readonly kind: "off" }
  | {
      readonly kind: "on";
      readonly use: PythonUse;
      /** Why no Python process can load it; null when it can. */
      readonly missing: string | null;
    };

const OFF: SourceReport = { name: "probe", available: false, reason: "switched off (--probe off)", capabilities: [] };

function tracesOf(directory: string, file: RecordFile | null): ProbeTraces {
  const infos = readProbeInfos(directory);
  const streams = file?.streams ?? [];
  const stepsSeen =
    (file?.steps.length ?? 0) > 0 ||
    streams.some(({ steps }) => steps.some((step) => !Number.isNaN(step))) ||
    infos.some(({ process }) => process.steps_from !== null);
  return { infos, streams, stepsSeen };
}

/** Facts of a run that are not in its record file. */
export interface RunObservations {
  readonly setup: ProbeSetup;
  readonly drivers: readonly DeviceReport[];
  /** When the command was let go, on the recording's clock; null when it never was. */
  readonly beganNs: number | null;
}

/**
 * The information of a finished run with the reports of its probes (processes, what can be read of them, what is
 * missing, the environment) and, from these and the drivers' lists, how much of each device the job used.
 * @param file the run's record file; null when it could not be read back
 */
export function withProbe(
  info: RecordingInfo,
  directory: string,
  file: RecordFile | null,
  { setup, drivers, beganNs }: RunObservations,
): RecordingInfo {
  const others = info.sources.filter(({ name }) => name !== "probe");
  if (setup.kind === "off") {
    return withDevices({ ...info, sources: [...others, OFF] }, file, beganNs, []);
  }
  const traces = tracesOf(directory, file);
  const sampler = info.sources.find(({ name }) => name === "probe");
  // A sampler that could not read the probes' directory has none of their values.
  const blind = sampler !== undefined && !sampler.available;
  const startNs = BigInt(info.clock.monotonic_start_ns);
  const reported = traces.infos.map((one) => withPhases(withDriverIndex(one, drivers), one.phases, startNs));
  const processes = file === null ? reported : withListedDevices(reported, drivers, file);
  const probed: RecordingInfo = {
    ...info,
    sources: [...others, blind ? sampler : probeSource(traces, setup.use, setup.missing)],
    fingerprint: completedFingerprint(info.fingerprint, processes, traces.streams, drivers),
    probe: probeSummary(processes),
    lost: [...info.lost, ...probeCaveats(traces)],
  };
  return withDevices(withSeenRanks(probed), file, beganNs, gapMarks(traces.infos, startNs));
}

function withDevices(
  info: RecordingInfo,
  file: RecordFile | null,
  beganNs: number | null,
  marks: readonly GapMarks[],
): RecordingInfo {
  if (file === null || info.devices === undefined) return info;
  return { ...info, devices: finishedDevices(file, info, { beganNs, marks }) };
}

/** The times in the reports of probes, on the recording's clock. */
function gapMarks(infos: readonly ProbeInfo[], monotonicStartNs: bigint): GapMarks[] {
  const since = (timeNs: bigint): number => Number(timeNs - monotonicStartNs);
  const at = (timeNs: bigint | null): number | null => (timeNs === null ? null : since(timeNs));
  return infos.flatMap(({ process, marks }): GapMarks[] => {
    const { context, group, wrap, firstStep } = marks;
    if (context === null && group === null && wrap === null && firstStep === null) return [];
    return [
      {
        pid: process.pid,
        contextNs: at(context),
        groupNs: at(group),
        wrapNs: wrap === null ? null : [since(wrap[0]), since(wrap[1])],
        firstStepNs: at(firstStep),
      },
    ];
  });
}

/** Everything the probes of a finished run left. */
interface ProbeTraces {
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
