import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { GateError, invalidInput } from "../core/errors.ts";
import { readParquet } from "./formats/parquet.ts";
import { readJsonTelemetry } from "./formats/read-json.ts";
import { readEventDirectory } from "./formats/stormlog/event-source.ts";
import { eventsToRecording } from "./formats/stormlog/events-recording.ts";
import { dumpNames, withDumpedError } from "./formats/stormlog/oom-dump.ts";
import { fileError } from "./input-file.ts";
import type { Recording, RecordingInfo } from "./recording/model.ts";
import { probeSummary, readProbeInfos } from "./recording/probe-files.ts";
import { RAW_RECORD_FILE } from "./recording/record-columns.ts";
import { readRecordFile } from "./recording/record-file.ts";
import { lossesOf, recordFileToRecording } from "./recording/record-recording.ts";
import { SAMPLES_FILE } from "./recording/run-directory.ts";
import { RECORDING_FILE, readRecordingInfo } from "./recording/run-info.ts";
import { withSeenRanks } from "./recording/shard-identity.ts";
import type { NamedRecording, Telemetry } from "./recording/telemetry.ts";

const RUNS = "runs";
/** Runs are two levels below `runs` (`<scenario>/<n>`). Scenario names with slashes add levels. */
const MAX_DEPTH = 6;

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
  return { recording: recordFileToRecording(file, complete), notes: [...notes, ...lossesOf(file, complete)] };
}

/** A killed gate did not write the probes' info. */
function withProbe(info: RecordingInfo, directory: string): RecordingInfo {
  if (info.probe !== undefined) return info;
  const infos = readProbeInfos(directory);
  if (infos.length === 0) return info;
  return withSeenRanks({ ...info, probe: probeSummary(infos.map(({ process }) => process)) });
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
      .sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  } catch (error) {
    throw fileError(error, directory);
  }
}

/** Run directories below a bundle's `runs`, by name, with numbers in numeric order. */
function runNames(directory: string, prefix = "", depth = 0): string[] {
  if (depth > MAX_DEPTH) return [];
  return list(directory).flatMap((name) => {
    const child = path.join(directory, name);
    const label = prefix === "" ? name : `${prefix}/${name}`;
    return isRunDirectory(child) ? [label] : runNames(child, label, depth + 1);
  });
}

/** Base runs and attribution runs are not candidates: used only in a bundle without candidate runs. */
function candidateRuns(names: readonly string[]): readonly string[] {
  const own = names.filter((name) => !/\/(?:base|attribution)-\d+(?:\/|$)/.test(name));
  return own.length === 0 ? names : own;
}

/**
 * Reads a directory: a run, a bundle with its runs, or a directory of Stormlog telemetry (export, dump, dumps, sink).
 * @throws GateError INPUT_IS_DIRECTORY when it is none, BUNDLE_WITHOUT_RUNS, INPUT_NO_PERMISSION, the readers' codes
 */
export async function readDirectory(directory: string): Promise<Telemetry> {
  const children = list(directory);
  if (isRunDirectory(directory)) {
    return { kind: "recording", format: "run-directory", ...(await readRunDirectory(directory)) };
  }
  if (children.includes(RUNS)) {
    const runs: NamedRecording[] = [];
    const notes: string[] = [];
    let firstError: GateError | null = null;
    for (const name of candidateRuns(runNames(path.join(directory, RUNS)))) {
      try {
        const run = await readRunDirectory(path.join(directory, RUNS, ...name.split("/")));
        runs.push({ name, recording: run.recording });
        notes.push(...run.notes.map((note) => `${name}: ${note}`));
      } catch (error) {
        // A run that was killed at its start must not hide the others.
        if (!(error instanceof GateError)) throw error;
        firstError ??= error;
        notes.push(`${name}: not read: ${error.message}`);
      }
    }
    if (runs.length === 0 && firstError) throw firstError;
    if (runs.length === 0) {
      throw invalidInput(
        "BUNDLE_WITHOUT_RUNS",
        "the bundle does not contain a run with samples",
        directory,
        "See its report.json.",
      );
    }
    return { kind: "runs", runs, notes };
  }
  const source = readEventDirectory(directory);
  if (source) {
    return {
      kind: "recording",
      format: "stormlog-directory",
      recording: withDumpedError(eventsToRecording(source.events, directory), directory),
      notes: source.notes,
    };
  }
  const dumps = dumpNames(directory).flatMap((name): NamedRecording[] => {
    const dump = readEventDirectory(path.join(directory, name));
    if (dump === null) return [];
    return [
      {
        name,
        recording: withDumpedError(
          eventsToRecording(dump.events, path.join(directory, name)),
          path.join(directory, name),
        ),
      },
    ];
  });
  if (dumps.length > 0) return { kind: "runs", runs: dumps, notes: [] };
  if (has(directory, "telemetry_timeline.json"))
    return readJsonTelemetry(path.join(directory, "telemetry_timeline.json"));
  throw invalidInput(
    "INPUT_IS_DIRECTORY",
    "the directory is neither a run, nor a bundle, nor Stormlog telemetry",
    directory,
    "Name a file in it, or the bundle's directory.",
  );
}
