import path from "node:path";
import { GateError } from "../../core/errors.ts";
import { readBounded } from "../../core/files.ts";
import type { Sampler } from "../../sampler/sampler.ts";
import { outOfMemory } from "../../telemetry/oom/decide.ts";
import { findMessages } from "../../telemetry/oom/messages.ts";
import { readProbeOoms } from "../../telemetry/oom/probe-files.ts";
import { processRoles } from "../../telemetry/reading/process-roles.ts";
import { dataLossNotes, recordFileToRecording } from "../../telemetry/reading/record-recording.ts";
import type { Recording, RecordingInfo } from "../../telemetry/recording/model.ts";
import type { RecordFile } from "../../telemetry/recording/record-columns.ts";
import { OUTPUT_FILE, RAW_RECORD_FILE } from "../../telemetry/recording/run-files.ts";
import { kernelFacts } from "../launch/kernel-watch.ts";
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
  readonly request: MeasureRequest;
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
  const withEvidence = (file: RecordFile | null): RecordingInfo =>
    withOutOfMemory(
      withProbe(info, directory, file, { setup, drivers: devices, beganNs }),
      directory,
      file,
      killsBefore,
    );
  const read = readRecords(records, path.join(directory, RAW_RECORD_FILE));
  const { interference } = read;
  try {
    if (read.kind === "failed") throw read.error;
    const { command, identity } = info;
    const nameOf = (pid: number) => programs.get(pid) ?? (pid === identity.pid ? programName(command.argv) : undefined);
    const roles = processRoles(read.file, nameOf);
    const known = { ...withEvidence(read.file), ...(roles === null ? {} : { processes: roles }) };
    const recording = recordFileToRecording(read.file, known);
    const complete = withReadings(known, recording, dataLossNotes(read.file, known));
    return {
      info: complete,
      recording: { ...recording, info: complete },
      interference,
      integrityError: samplingError,
      writeError: null,
    };
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    const complete = withReadings(withEvidence(null), { peaks: [] }, [`peaks: ${error.message}`]);
    const integrityError = error.code === RECORD_FILE_ALTERED ? error : samplingError;
    return { info: complete, recording: null, interference, integrityError, writeError: null };
  }
}

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
  });
  return oom === null ? info : { ...info, oom };
}
