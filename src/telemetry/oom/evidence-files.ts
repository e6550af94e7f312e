import { existsSync, lstatSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { messageOf } from "../../core/errors.ts";
import { makeDirectories, readTail, writeAtomicallySync } from "../../core/files.ts";
import { writeParquet } from "../formats/parquet.ts";
import { largestOf } from "../recording/common-clock.ts";
import type { Column, Recording, RecordingInfo, SampleTable } from "../recording/model.ts";
import type { OutOfMemory } from "../recording/out-of-memory.ts";
import type { ProbeOom } from "../recording/probe-record.ts";
import { PROBE_FOLDER } from "../recording/run-files.ts";
import { findMessages } from "./messages.ts";
import { inOrder, probeWitness, readProbeOoms, smallText } from "./probe-files.ts";
import { recordedTraceback, tracebackText } from "./stack.ts";

/** Maximum number of errors of a run that are kept with their snapshots. */
const MAX_ERRORS = 5;

/** Written files and write errors. */
export interface OomEvidence {
  /** Paths within the run directory, with "/" between names. */
  readonly files: readonly string[];
  /** Sentences about missing evidence. */
  readonly notes: readonly string[];
}

/** The end of a file; null when it is unreadable or empty. */
function tailOf(file: string): string | null {
  try {
    // Size of the output's end that is stored with the error, bytes.
    const text = readTail(file, 64 * 1024, "refuse").toString("utf8");
    return text.trim() === "" ? null : text;
  } catch {
    return null;
  }
}

/** Moves a snapshot, which may be large. Links and special files stay. */
function moveSnapshot(from: string, to: string): void {
  if (!lstatSync(from).isFile()) throw new Error("it is not a regular file");
  renameSync(from, to);
}

/** The errors that are kept: the first, which is the cause, and the last ones. */
function keptErrors(records: readonly ProbeOom[]): readonly ProbeOom[] {
  const [first] = records;
  if (first === undefined || records.length <= MAX_ERRORS) return records;
  return [first, ...records.slice(1 - MAX_ERRORS)];
}

/** Each error in the recording's form, the first being the run's own. */
function errorsOf(oom: OutOfMemory, records: readonly ProbeOom[], info: RecordingInfo): readonly OutOfMemory[] {
  if (oom.source !== "probe" || records.length < 2) return [oom];
  const startNs = BigInt(info.clock.monotonic_start_ns);
  return keptErrors(records).map((record, i) => (i === 0 ? oom : { ...oom, ...probeWitness(record, startNs) }));
}

/**
 * Writes `oom/` of a run that ran out of memory, into its run directory:
 *
 *     oom.json          the error, and every error that the probe recorded
 *     window.parquet    every sample of the last ten seconds
 *     traceback.txt     the stack of the failing request
 *     output-tail.txt   the end of the command's output
 *     <pid>.<n>.oom.<k> the probe's own records, with their .pickle snapshots and the .info of their processes
 *
 * Nothing is thrown, so that a full disk does not affect the run's other evidence.
 */
export function writeOomEvidence(
  directory: string,
  recording: Recording,
  oom: OutOfMemory,
  info: RecordingInfo,
): OomEvidence {
  const writer = new EvidenceWriter(path.join(directory, OOM_FOLDER));
  const records = inOrder(readProbeOoms(directory));
  const span = oomWindow(recording, oom.time_ns);
  if (span !== null) {
    const window = cutToWindow(recording, span);
    writer.put("window.parquet", (file) => writeParquet(file, window));
  }
  const output = smallText(path.join(directory, "output.log")) ?? "";
  const line = findMessages(output).findLast(({ wording }) => wording === "report")?.line;
  const seen = records.find((record) => record.traceback !== null);
  const traceback =
    seen === undefined ? (line === undefined ? null : tracebackText(output, line)) : recordedTraceback(seen);
  if (traceback !== null) writer.text("traceback.txt", traceback);
  const tail = tailOf(path.join(directory, "output.log"));
  if (tail !== null) writer.text("output-tail.txt", tail);
  const probe = path.join(directory, PROBE_FOLDER);
  for (const { file } of records) {
    const own = smallText(path.join(probe, file));
    // Moved rather than copied: a bundle should contain it once.
    if (own !== null && writer.text(file, own)) rmSync(path.join(probe, file), { force: true });
  }
  for (const info of new Set(records.map(({ file }) => file.replace(/\.oom\.\d+$/, ".info")))) {
    const own = smallText(path.join(probe, info));
    if (own !== null) writer.text(info, own);
  }
  for (const { snapshot } of keptErrors(records)) {
    if (snapshot === null || !existsSync(path.join(probe, snapshot))) continue;
    writer.put(snapshot, (file) => moveSnapshot(path.join(probe, snapshot), file));
  }
  const document = {
    schema: "stormlog.oom/1",
    ...oom,
    exit: info.exit,
    window: span === null ? null : { from_ns: span.fromNs, to_ns: span.toNs },
    later: errorsOf(oom, records, info).slice(1),
  };
  writer.text("oom.json", `${JSON.stringify(document, null, 2)}\n`);
  const loss = writer.loss();
  const empty = span === null ? ["no sample is older than the error"] : [];
  return { files: writer.files, notes: [...empty, ...(loss === null ? [] : [loss])] };
}

/** A span of a recording, nanoseconds since its time zero. */
interface OomWindow {
  readonly fromNs: number;
  readonly toNs: number;
}

/** Time kept before an out-of-memory error, and after one that the run survived, nanoseconds. */
const BEFORE_NS = 10e9;
const AFTER_NS = 1e9;

/** Time of the last sample of any table; null when no table has a clock. */
function lastSample(recording: Recording): number | null {
  return largestOf(recording.tables.flatMap(({ timeNs }) => largestOf(timeNs ?? []) ?? []));
}

/** Ten seconds up to the error and one beyond it, or up to the last sample at an unknown time. Null without samples. */
function oomWindow(recording: Recording, timeNs: number | null): OomWindow | null {
  const last = lastSample(recording);
  if (last === null) return null;
  const at = timeNs === null ? last : Math.min(timeNs, last);
  return { fromNs: Math.max(0, at - BEFORE_NS), toNs: Math.min(last, at + AFTER_NS) };
}

function rowsWithin(table: SampleTable, { fromNs, toNs }: OomWindow): SampleTable | null {
  const { timeNs } = table;
  if (timeNs === null) return null;
  const rows: number[] = [];
  for (const [row, time] of timeNs.entries()) if (time >= fromNs && time <= toNs) rows.push(row);
  if (rows.length === 0) return null;
  const pick = (values: Float64Array) => Float64Array.from(rows, (row) => values[row] ?? Number.NaN);
  const columns: Partial<Record<Column, Float64Array>> = {};
  for (const [name, values] of Object.entries(table.columns) as [Column, Float64Array][]) columns[name] = pick(values);
  const { atStep } = table;
  return {
    ...table,
    timeNs: pick(timeNs),
    steps: table.steps === null ? null : pick(table.steps),
    columns,
    ...(atStep === undefined ? {} : { atStep: Uint8Array.from(rows, (row) => atStep[row] ?? 0) }),
  };
}

/** All samples of the window at full rate, with times of the whole recording. */
function cutToWindow(recording: Recording, window: OomWindow): Recording {
  return {
    ...recording,
    tables: recording.tables.map((table) => rowsWithin(table, window)).filter((table) => table !== null),
    marks: recording.marks.filter(({ timeNs }) => timeNs >= window.fromNs && timeNs <= window.toNs),
  };
}

/** Directory of the out-of-memory evidence in a run directory. */
const OOM_FOLDER = "oom";

/** Maximum number of named files that could not be written. */
const MAX_NAMED = 5;

/** Writes files one after another. A failure (a full disk) is recorded and does not prevent the others. */
class EvidenceWriter {
  readonly files: string[] = [];
  readonly #failed: string[] = [];
  #cause = "";
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** @returns whether it was written */
  put(name: string, write: (file: string) => void): boolean {
    const file = path.join(this.#directory, name);
    try {
      makeDirectories(path.dirname(file));
      write(file);
    } catch (error) {
      this.#failed.push(name);
      if (this.#cause === "") this.#cause = messageOf(error);
      this.#delete(file);
      return false;
    }
    this.files.push(`${OOM_FOLDER}/${name}`);
    return true;
  }

  text(name: string, text: string): boolean {
    return this.put(name, (file) => writeAtomicallySync(file, text));
  }

  /** One sentence about all files that could not be written; null without any. */
  loss(): string | null {
    if (this.#failed.length === 0) return null;
    const named = this.#failed.slice(0, MAX_NAMED).join(", ");
    const more = this.#failed.length > MAX_NAMED ? ` and ${this.#failed.length - MAX_NAMED} more` : "";
    return `${OOM_FOLDER}/ is not complete: ${named}${more} could not be written (${this.#cause})`;
  }

  /** A partial file is worse than none. If it cannot be deleted, it stays. */
  #delete(file: string): void {
    try {
      rmSync(file, { recursive: true, force: true });
    } catch {
      // The recorded cause explains it.
    }
  }
}
