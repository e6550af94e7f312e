import { readTelemetry, type Telemetry } from "../telemetry/read.ts";
import { isSnapshotFile, readSnapshotFile } from "./snapshot-input.ts";
import { snapshotTelemetry } from "./snapshot-recording.ts";

/** Read {@link readTelemetry}'s formats and PyTorch's memory snapshots. @throws GateError (exit 5) of both readers */
export async function readInput(path: string): Promise<Telemetry> {
  return isSnapshotFile(path) ? snapshotTelemetry(readSnapshotFile(path), path) : readTelemetry(path);
}
