import { snapshotTelemetry } from "../snapshot/live/snapshot-recording.ts";
import type { Telemetry } from "../telemetry/recording/model.ts";
import { readTelemetry } from "./foreign/read.ts";
import { isSnapshotFile, readSnapshotFile } from "./snapshot-input.ts";
import { verifyRuns } from "./verified-bundle.ts";

/**
 * Read {@link readTelemetry}'s formats and PyTorch's memory snapshots; a bundle's recordings are compared with its
 * manifest. @throws GateError (exit 5) of both readers, BUNDLE_CORRUPT
 */
export async function readInput(path: string): Promise<Telemetry> {
  if (isSnapshotFile(path)) return snapshotTelemetry(readSnapshotFile(path), path);
  const note = await verifyRuns(path);
  const telemetry = await readTelemetry(path);
  return note === null || !("notes" in telemetry) ? telemetry : { ...telemetry, notes: [note, ...telemetry.notes] };
}
