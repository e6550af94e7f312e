import type { DeviceReport, SourceReport } from "../../sampler/sampler.ts";
import type { GapMarks } from "../../telemetry/devices/device-gap.ts";
import { finishedDevices } from "../../telemetry/devices/recorded-devices.ts";
import { probeSummary, readProbeInfos } from "../../telemetry/reading/probe-files.ts";
import type { ProbeInfo } from "../../telemetry/reading/probe-info.ts";
import { withPhases } from "../../telemetry/reading/probe-phases.ts";
import { withSeenRanks } from "../../telemetry/reading/shard-identity.ts";
import type { RecordingInfo } from "../../telemetry/recording/model.ts";
import type { RecordFile } from "../../telemetry/recording/record-columns.ts";
import { completedFingerprint } from "../environment/probe-fingerprint.ts";
import type { PythonUse } from "../environment/python-flags.ts";
import { withDriverIndex, withListedDevices } from "./device-owners.ts";
import { type ProbeTraces, probeCaveats, probeSource } from "./probe-report.ts";

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
