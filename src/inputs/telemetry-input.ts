import { readTelemetry, type Telemetry } from "../telemetry/read.ts";
import { isSnapshotFile, readSnapshotFile } from "./snapshot-input.ts";
import { snapshotTelemetry } from "./snapshot-recording.ts";

/**
 * Any recorded memory: the formats of {@link readTelemetry}, and the traces of PyTorch's memory snapshots.
 * @throws GateError (invalid input, exit 5) the codes of both readers
 */
export async function readInput(path: string): Promise<Telemetry> {
  return isSnapshotFile(path) ? snapshotTelemetry(readSnapshotFile(path), path) : readTelemetry(path);
}
