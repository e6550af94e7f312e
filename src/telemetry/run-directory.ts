import { rmSync } from "node:fs";
import path from "node:path";
import { GateError, messageOf } from "../core/errors.ts";
import { writeAtomicallySync } from "../core/files.ts";
import { readParquet, writeParquet } from "./formats/parquet.ts";
import { alertEvents, statisticsDocument, timelineDocument } from "./formats/stormlog/artifacts.ts";
import { type EventOptions, telemetryEvents } from "./formats/stormlog/sample-events.ts";
import { eventsCsv, eventsJson } from "./formats/stormlog/serialize.ts";
import { writeOomEvidence } from "./oom/evidence-files.ts";
import { clearProbeFiles } from "./reading/probe-files.ts";
import { RECENT_ENDING } from "./reading/recent-records.ts";
import type { Recording, RecordingInfo, TelemetryEvent } from "./recording/model.ts";
import { RAW_RECORD_FILE, RECORDING_FILE, SAMPLES_FILE } from "./recording/run-files.ts";

export interface RunFilesOptions extends EventOptions {
  /** Also write the Stormlog files (default true). False for runs that a loader must not take for candidates. */
  readonly telemetry?: boolean;
  /** Also write `events.csv` (default false): Stormlog's loader of directories would read every sample twice. */
  readonly csv?: boolean;
  /** `recording.json` has been written with the recording's information: rewritten only for a further loss. */
  readonly infoWritten?: boolean;
}

interface WrittenRunFiles {
  /** Names of the files. */
  readonly files: readonly string[];
  /** What `recording.json` contains; null when the recording has no information on its run. */
  readonly info: RecordingInfo | null;
}

function writeRunFile(file: string, text: string): void {
  try {
    writeAtomicallySync(file, text);
  } catch (error) {
    throw new GateError("RUN_FILE_WRITE_FAILED", `the file cannot be written (${messageOf(error)})`, {
      where: file,
      hint: "Check the free space and the permissions of the directory.",
      cause: error,
    });
  }
}

function sameColumn(
  a: Float64Array | Uint8Array | null | undefined,
  b: Float64Array | Uint8Array | null | undefined,
): boolean {
  if (!a || !b) return !a && !b;
  return a.length === b.length && a.every((value, i) => value === b[i] || (Number.isNaN(value) && Number.isNaN(b[i]!)));
}

/** True when every table reads back with all its values. */
function sameSamples(a: Recording, b: Recording): boolean {
  return (
    a.tables.length === b.tables.length &&
    a.tables.every((table, i) => {
      const other = b.tables[i]!;
      const columns = [
        ...new Set([...Object.keys(table.columns), ...Object.keys(other.columns)]),
      ] as (keyof typeof table.columns)[];
      return (
        table.rank === other.rank &&
        table.device === other.device &&
        sameColumn(table.timeNs, other.timeNs) &&
        sameColumn(table.steps, other.steps) &&
        sameColumn(table.atStep, other.atStep) &&
        columns.every((column) => sameColumn(table.columns[column], other.columns[column]))
      );
    })
  );
}

/**
 * Writes `samples.parquet` at full rate, by default the Stormlog files, and `oom/` after a lack of memory (its write
 * errors are in `lost`); updates `recording.json` with the peaks. The sampler's file and the probes' rings are removed
 * last, and only when the Parquet file was read back with the same values.
 * @throws GateError RUN_FILE_WRITE_FAILED, PARQUET_WRITE_FAILED, PARQUET_VERIFY_FAILED
 */
export async function writeRunFiles(
  directory: string,
  recording: Recording,
  options: RunFilesOptions = {},
): Promise<WrittenRunFiles> {
  const written: string[] = [];
  const write = (name: string, text: string): void => {
    writeRunFile(path.join(directory, name), text);
    written.push(name);
  };
  const telemetry = options.telemetry ?? true;
  const { info } = recording;
  const oom = info?.oom === undefined ? null : writeOomEvidence(directory, recording, info.oom, info);
  written.push(...(oom?.files ?? []));
  const notes = oom?.notes ?? [];
  const completed = info && { ...info, peaks: recording.peaks, lost: [...info.lost, ...notes] };
  if (completed !== null && (options.infoWritten !== true || notes.length > 0)) {
    write(RECORDING_FILE, `${JSON.stringify(completed, null, 2)}\n`);
  }
  if (telemetry) {
    const events = telemetryEvents(recording, options);
    for (const [name, text] of telemetryFiles(events, recording)) write(name, text);
    if (options.csv === true) write("events.csv", eventsCsv(events));
  }
  const samples = path.join(directory, SAMPLES_FILE);
  writeParquet(samples, recording);
  if (!sameSamples(recording, await readParquet(samples))) {
    throw new GateError("PARQUET_VERIFY_FAILED", "the samples do not read back as they were written", {
      where: samples,
      hint: `The samples are complete in ${RAW_RECORD_FILE}. Check the disk.`,
    });
  }
  written.push(SAMPLES_FILE);
  // The measured command may have put anything there.
  for (const name of [RAW_RECORD_FILE, `${RAW_RECORD_FILE}${RECENT_ENDING}`]) {
    rmSync(path.join(directory, name), { recursive: true, force: true });
  }
  clearProbeFiles(directory);
  return { files: written, info: completed };
}

function telemetryFiles(events: readonly TelemetryEvent[], recording: Recording): [string, string][] {
  const json = (document: unknown) => `${JSON.stringify(document, null, 2)}\n`;
  return [
    ["events.json", eventsJson(events)],
    ["timeline.json", json(timelineDocument(events))],
    ["stats.json", json(statisticsDocument(events, recording))],
    ["alerts.json", eventsJson(alertEvents(events))],
  ];
}
