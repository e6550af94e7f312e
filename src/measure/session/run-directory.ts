import { lstatSync, statSync } from "node:fs";
import path from "node:path";
import { codeOf, GateError } from "../../core/errors.ts";
import { makeDirectories, writeAtomicallySync } from "../../core/files.ts";
import type { RecordingInfo } from "../../telemetry/recording/model.ts";
import {
  OUTPUT_FILE,
  PROBE_FOLDER,
  RAW_RECORD_FILE,
  RECORDING_FILE,
  SAMPLES_FILE,
} from "../../telemetry/recording/run-files.ts";

/** Names that a recording writes, and would overwrite. */
const RUN_FILES = [
  RECORDING_FILE,
  RAW_RECORD_FILE,
  "samples.rec.recent",
  SAMPLES_FILE,
  "events.json",
  "events.csv",
  "timeline.json",
  "stats.json",
  "alerts.json",
  PROBE_FOLDER,
  OUTPUT_FILE,
] as const;

export function unwritable(where: string, cause: unknown): GateError {
  const code = codeOf(cause) ?? String(cause);
  return new GateError("RUN_DIRECTORY_UNWRITABLE", `the run's directory cannot be written (${code})`, {
    kind: "error",
    where,
    hint:
      code === "ENOSPC"
        ? "The disk is full: free some space, or choose a directory on another disk."
        : "Choose a directory that this user may write.",
    cause,
  });
}

/** Make a run's directory, without a recording yet. @throws GateError RUN_DIRECTORY_IN_USE, RUN_DIRECTORY_UNWRITABLE */
export function createRunDirectory(directory: string): void {
  try {
    makeDirectories(directory);
  } catch (error) {
    throw unwritable(directory, error);
  }
  const taken = RUN_FILES.find(
    (name) => lstatSync(path.join(directory, name), { throwIfNoEntry: false }) !== undefined,
  );
  if (taken !== undefined) {
    throw new GateError("RUN_DIRECTORY_IN_USE", `this directory has a recording already: ${taken}`, {
      kind: "error",
      where: directory,
      hint: "Choose another directory, or remove the old recording.",
    });
  }
}

/** @throws GateError CWD_NOT_FOUND, CWD_NOT_DIRECTORY (both usage) */
export function checkWorkingDirectory(cwd: string): void {
  const stats = statSync(cwd, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return;
  const [code, what] =
    stats === undefined ? ["CWD_NOT_FOUND", "does not exist"] : ["CWD_NOT_DIRECTORY", "is not a directory"];
  throw new GateError(code, `the working directory of the command ${what}`, {
    kind: "usage",
    where: cwd,
    hint: "Correct the scenario's cwd, or create the directory.",
  });
}

/**
 * Write `recording.json` so that a reader finds either the old content or the new one, even when this process dies.
 * @throws GateError RUN_DIRECTORY_UNWRITABLE
 */
export function writeRecordingInfo(directory: string, info: RecordingInfo): void {
  const file = path.join(directory, RECORDING_FILE);
  try {
    writeAtomicallySync(file, `${JSON.stringify(info, null, 2)}\n`);
  } catch (error) {
    throw unwritable(file, error);
  }
}
