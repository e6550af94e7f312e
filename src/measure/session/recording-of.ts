import path from "node:path";
import { GateError } from "../../core/errors.ts";
import type { Sampler } from "../../sampler/sampler.ts";
import type { Recording, RecordingInfo } from "../../telemetry/recording/model.ts";
import { RAW_RECORD_FILE } from "../../telemetry/recording/record-columns.ts";
import { type RecordFile, readRecordFile } from "../../telemetry/recording/record-file.ts";
import { lossesOf, recordFileToRecording } from "../../telemetry/recording/record-recording.ts";
import { withOutOfMemory } from "./out-of-memory.ts";
import { type ProbeSetup, withProbe } from "./probe-info.ts";
import { withReadings } from "./recording-info.ts";
import type { MeasureRequest } from "./request.ts";

/** A finished run: the content of its `recording.json`, and the recording made from its record file. */
export interface MeasuredRecording {
  readonly info: RecordingInfo;
  /** Null when the record file cannot be read back; `info.lost` has the reason. */
  readonly recording: Recording | null;
}

/** A run that has ended, before its record file is read. */
export interface Ran {
  readonly info: RecordingInfo;
  readonly devices: Sampler["devices"];
  /** When the command was let go, on the recording's clock. */
  readonly beganNs: number | null;
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
  { info, devices, beganNs }: Ran,
): Promise<MeasuredRecording> {
  const { directory } = request;
  const withEvidence = (file: RecordFile | null): RecordingInfo =>
    withOutOfMemory(
      withProbe(info, directory, file, { setup, drivers: devices, beganNs }),
      directory,
      file,
      killsBefore,
    );
  try {
    const file = await readRecordFile(path.join(directory, RAW_RECORD_FILE));
    const known = withEvidence(file);
    const recording = recordFileToRecording(file, known);
    const complete = withReadings(known, recording, lossesOf(file, known));
    return { info: complete, recording: { ...recording, info: complete } };
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    return { info: withReadings(withEvidence(null), { peaks: [] }, [`peaks: ${error.message}`]), recording: null };
  }
}
