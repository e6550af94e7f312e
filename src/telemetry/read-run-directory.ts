import { existsSync } from "node:fs";
import path from "node:path";
import { GateError } from "../core/errors.ts";
import { readParquet } from "./formats/parquet.ts";
import { probeSummary, readProbeInfos } from "./reading/probe-files.ts";
import { readRecordFile } from "./reading/record-file.ts";
import { dataLossNotes, recordFileToRecording } from "./reading/record-recording.ts";
import { withSeenRanks } from "./reading/shard-identity.ts";
import type { Recording, RecordingInfo } from "./recording/model.ts";
import { RAW_RECORD_FILE, RECORDING_FILE, SAMPLES_FILE } from "./recording/run-files.ts";
import { readRecordingInfo } from "./recording/run-info.ts";

const has = (directory: string, name: string) => existsSync(path.join(directory, name));

/** True for a run directory, complete or not. */
export function isRunDirectory(directory: string): boolean {
  return has(directory, SAMPLES_FILE) || has(directory, RAW_RECORD_FILE);
}

/**
 * The recording of one run: `samples.parquet`, or the sampler's own file if the gate was killed before it could write
 * that.
 * @throws GateError of the two readers and of `recording.json`
 */
export async function readRunDirectory(directory: string): Promise<{ recording: Recording; notes: readonly string[] }> {
  const info: RecordingInfo | null = has(directory, RECORDING_FILE) ? readRecordingInfo(directory) : null;
  const notes: string[] = info ? [...info.lost] : [`${RECORDING_FILE} is missing`];
  const raw = path.join(directory, RAW_RECORD_FILE);
  if (has(directory, SAMPLES_FILE)) {
    try {
      const recording = await readParquet(path.join(directory, SAMPLES_FILE));
      const worldSize = recording.worldSize ?? info?.identity.world_size ?? null;
      const cut = info?.cut === undefined ? {} : { cut: info.cut };
      return { recording: { ...recording, info, worldSize, ...cut }, notes };
    } catch (error) {
      if (!(error instanceof GateError) || !existsSync(raw)) throw error;
      notes.push(`${SAMPLES_FILE} cannot be read (${error.message}), so ${RAW_RECORD_FILE} is used`);
    }
  }
  const file = await readRecordFile(raw);
  const complete = info === null ? null : withProbe(info, directory);
  return { recording: recordFileToRecording(file, complete), notes: [...notes, ...dataLossNotes(file, complete)] };
}

/** A killed gate did not write the probes' info. */
function withProbe(info: RecordingInfo, directory: string): RecordingInfo {
  if (info.probe !== undefined) return info;
  const infos = readProbeInfos(directory);
  if (infos.length === 0) return info;
  return withSeenRanks({ ...info, probe: probeSummary(infos.map(({ process }) => process)) });
}
