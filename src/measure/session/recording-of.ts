import { closeSync, constants, openSync, readSync } from "node:fs";
import path from "node:path";
import { codeOf, GateError } from "../../core/errors.ts";
import { readBounded } from "../../core/files.ts";
import { oneLine } from "../../core/text.ts";
import type { Sampler } from "../../sampler/sampler.ts";
import { type OomFacts, outOfMemory } from "../../telemetry/oom/decide.ts";
import { type KernelFacts, NO_KERNEL_FACTS, victimsIn } from "../../telemetry/oom/kernel.ts";
import { findMessages } from "../../telemetry/oom/messages.ts";
import { readProbeOoms } from "../../telemetry/oom/probe-files.ts";
import { DEDICATED_CGROUP } from "../../telemetry/reading/host-peak.ts";
import { removeFilesOf } from "../../telemetry/reading/probe-files.ts";
import { processRoles } from "../../telemetry/reading/process-roles.ts";
import { dataLossNotes, kernelKills, recordFileToRecording } from "../../telemetry/reading/record-recording.ts";
import type { Recording, RecordingInfo } from "../../telemetry/recording/model.ts";
import type { RecordFile } from "../../telemetry/recording/record-columns.ts";
import { OUTPUT_FILE, RAW_RECORD_FILE } from "../../telemetry/recording/run-files.ts";
import { machineKillsNow } from "../launch/machine-kills.ts";
import { type ProbeSetup, withProbe } from "./probe-info.ts";
import { type ProgramNames, programName } from "./program-names.ts";
import { RECORD_FILE_ALTERED, readRecords } from "./read-records.ts";
import { withReadings } from "./recording-info.ts";
import type { MeasureRequest } from "./request.ts";

/** A finished run: the content of its `recording.json`, and the recording made from its record file. */
export interface MeasuredRecording {
  readonly info: RecordingInfo;
  /** Null when the record file cannot be read back; `info.lost` has the reason. */
  readonly recording: Recording | null;
  /** What was done to the record file while the command ran, one sentence each. */
  readonly interference: readonly string[];
  /** Why the recorded samples are not those that were measured; null when they are. */
  readonly integrityError: GateError | null;
  /** Why `recording.json` was not completed; null when it was. */
  readonly writeError: GateError | null;
}

/** A run that has ended, before its record file is read. */
export interface EndedRun {
  readonly info: RecordingInfo;
  readonly devices: Sampler["devices"];
  /** When the command was let go, on the recording's clock. */
  readonly beganNs: number | null;
  readonly programs: ProgramNames;
  /** The stopped sampler's records. */
  readonly records: Pick<Sampler, "readRecords" | "checkRecords" | "closeRecords">;
  /** Why samples of the run are missing; null when none are, or the machine was too busy. */
  readonly samplingError: GateError | null;
}

/** What was known before the command was launched. */
interface RunSetup {
  readonly request: Pick<MeasureRequest, "directory" | "ignore">;
  readonly setup: ProbeSetup;
  /** Kills of the machine's kernel before the command began. */
  readonly killsBefore: number | null;
}

/** Complete a run from its record file; an unreadable one costs the recording and its peaks, not the run. */
export async function recordingOf(
  { request, setup, killsBefore }: RunSetup,
  { info, devices, beganNs, programs, records, samplingError }: EndedRun,
): Promise<MeasuredRecording> {
  const { directory } = request;
  const read = readRecords(records, path.join(directory, RAW_RECORD_FILE));
  const { interference } = read;
  try {
    if (read.kind === "failed") throw read.error;
    const { ignored } = read.file.processes;
    const { command, identity } = info;
    const nothingMeasured = ignored.has(identity.pid) ? commandIgnored(programName(command.argv)) : null;
    return {
      ...describeRun({ request, setup, killsBefore }, { info, devices, beganNs, programs }, read.file),
      interference,
      integrityError: nothingMeasured ?? samplingError,
      writeError: null,
    };
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    const complete = withReadings(
      withEvidence({ request, setup, killsBefore }, { info, devices, beganNs }, null),
      { peaks: [] },
      [`peaks: ${error.message}`],
    );
    const integrityError = error.code === RECORD_FILE_ALTERED ? error : samplingError;
    return { info: complete, recording: null, interference, integrityError, writeError: null };
  }
}

type RunFacts = Pick<EndedRun, "info" | "devices" | "beganNs">;

function withEvidence(
  { request: { directory }, setup, killsBefore }: RunSetup,
  { info, devices, beganNs }: RunFacts,
  file: RecordFile | null,
): RecordingInfo {
  const probed = withProbe(info, directory, file, { setup, drivers: devices, beganNs });
  return withOutOfMemory(probed, directory, file, killsBefore);
}

/** A run as its record file and the files of its directory describe it. */
export function describeRun(
  run: RunSetup,
  { programs, ...facts }: RunFacts & { readonly programs: Pick<ProgramNames, "get"> },
  file: RecordFile,
): { readonly info: RecordingInfo; readonly recording: Recording } {
  const { directory, ignore } = run.request;
  const { command, identity } = facts.info;
  const { all, ignored } = file.processes;
  removeFilesOf(ignored, directory);
  const machinePids = new Map(all.map(({ pid, machinePid }) => [pid, machinePid]));
  const nameOf = (pid: number) =>
    programs.get(machinePids.get(pid) ?? pid) ?? (pid === identity.pid ? programName(command.argv) : undefined);
  const roles = processRoles(file, nameOf);
  const known = { ...withEvidence(run, facts, file), ...(roles === null ? {} : { processes: roles }) };
  const recording = recordFileToRecording(file, known);
  const info = withReadings(known, recording, [
    ...dataLossNotes(file, known),
    ...(ignore !== undefined && ignored.size === 0 ? [nothingIgnored(ignore)] : []),
  ]);
  return { info, recording: { ...recording, info } };
}

/** What a process starts is ignored with it. */
const commandIgnored = (program: string): GateError =>
  new GateError(
    "COMMAND_IGNORED",
    `the command itself, ${oneLine(program)}, is a program that the configuration ignores`,
    {
      hint: "Nothing was measured. Take its name out of the scenario's `ignore`.",
    },
  );

const nothingIgnored = (programs: readonly string[]): string =>
  `no process of ${programs.join(", ")} was seen, which the configuration ignores: nothing was left out`;

/** The kept part of the output. */
function keptOutput(directory: string): string {
  try {
    // More than the gate keeps of an output: such a file is not its own.
    return readBounded(path.join(directory, OUTPUT_FILE), 1 << 20, "refuse").toString("utf8");
  } catch {
    return "";
  }
}

/**
 * The run's information with evidence of running out of memory (`oom`), if any; unreadable traces count as missing.
 * @param file null when it could not be read back  @param killsBefore kernel kills before the command began
 */
function withOutOfMemory(
  info: RecordingInfo,
  directory: string,
  file: RecordFile | null,
  killsBefore: number | null,
): RecordingInfo {
  const output = keptOutput(directory);
  const oom = outOfMemory({
    exit: info.exit,
    startNs: BigInt(info.clock.monotonic_start_ns),
    probe: readProbeOoms(directory),
    kernel: kernelFacts(info, file, killsBefore),
    output,
    messages: findMessages(output),
    level: info.complete || file === null ? undefined : lastLevel(file, info),
  });
  return oom === null ? info : { ...info, oom };
}

/** What the memory group held at the end, without page cache; undefined where it has no limit. */
function lastLevel({ cgroup, lastNs }: RecordFile, { fingerprint }: RecordingInfo): OomFacts["level"] {
  const limitBytes = fingerprint.memory_limit_bytes;
  const at = cgroup.timeNs.findLastIndex((timeNs) => timeNs <= lastNs - 2e9);
  const [bytes, beforeBytes] = [cgroup.anonShmem.at(-1), cgroup.anonShmem.at(Math.max(0, at))];
  if (typeof limitBytes !== "number" || bytes === undefined || beforeBytes === undefined) return undefined;
  return { bytes, beforeBytes, limitBytes };
}

/** Records read of the kernel's log; its ring holds some thousands. */
const MAX_RECORDS = 100_000;

/** The kernel's log, one record each; empty where it may not be read (most containers). */
function kernelLog(): string[] {
  let descriptor: number;
  try {
    descriptor = openSync("/dev/kmsg", constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return [];
  }
  const records: string[] = [];
  // A record of the kernel's log is at most this long; a shorter buffer makes the read fail.
  const bytes = Buffer.alloc(8192);
  try {
    while (records.length < MAX_RECORDS) {
      try {
        const size = readSync(descriptor, bytes, 0, bytes.length, null);
        if (size === 0) break;
        records.push(bytes.toString("utf8", 0, size));
      } catch (error) {
        // The record at hand was overwritten meanwhile: the next read goes on behind it.
        if (codeOf(error) === "EPIPE") continue;
        break;
      }
    }
  } finally {
    closeSync(descriptor);
  }
  return records;
}

/** Processes that were the job's, by what the sampler saw of them: their number for the kernel, and their own. */
function jobPids(file: RecordFile | null, info: RecordingInfo): ReadonlyMap<number, number> {
  const own = info.identity.pid > 0 ? [[info.identity.pid, info.identity.pid] as const] : [];
  return new Map([...own, ...(file?.processes.all ?? []).map(({ pid, machinePid }) => [machinePid, pid] as const)]);
}

/**
 * Evidence of kills by the kernel between the run's start and now. Its log is read only after a SIGKILL, or when a
 * counter rose.
 * @param before {@link machineKillsNow} from before the command began
 */
function kernelFacts(info: RecordingInfo, file: RecordFile | null, before: number | null): KernelFacts {
  const now = machineKillsNow();
  const machineKills = before === null || now === null ? null : Math.max(0, now - before);
  const rises = file === null ? [] : kernelKills(file.cgroup);
  const [first] = rises;
  const source = info.sources.find(({ name }) => name.startsWith("cgroup"));
  const group =
    first === undefined
      ? null
      : {
          kills: rises.reduce((sum, { count }) => sum + count, 0),
          timeNs: first.timeNs,
          dedicated: source?.capabilities.includes(DEDICATED_CGROUP) ?? false,
        };
  if (machineKills === 0 && group === null) return { ...NO_KERNEL_FACTS, machineKills };
  const startNs = BigInt(info.clock.monotonic_start_ns);
  const pids = jobPids(file, info);
  // A run that a killed gate left may be another machine's.
  const victims = victimsIn(info.complete ? kernelLog() : []).flatMap((victim) => {
    const pid = pids.get(victim.pid);
    // The log's clock and CLOCK_MONOTONIC may lie a little apart.
    return pid !== undefined && victim.monotonicNs >= startNs - 100_000_000n ? [{ ...victim, pid }] : [];
  });
  return { group, machineKills, victims };
}
