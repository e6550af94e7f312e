import { existsSync, lstatSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { readTail } from "../../core/files.ts";
import { writeParquet } from "../formats/parquet.ts";
import type { Recording, RecordingInfo } from "../recording/model.ts";
import type { OutOfMemory } from "../recording/out-of-memory.ts";
import type { ProbeOom } from "../recording/probe-record.ts";
import { PROBE_FOLDER } from "../recording/run-info.ts";
import { EvidenceWriter, OOM_FOLDER } from "./evidence-writer.ts";
import { findMessages } from "./messages.ts";
import { readProbeOoms, smallText } from "./probe-files.ts";
import { inOrder, probeWitness } from "./probe-witness.ts";
import { recordedTraceback, tracebackText } from "./stack.ts";
import { stormlogDump } from "./stormlog-dump.ts";
import { cutToWindow, oomWindow } from "./window.ts";

/** Stormlog's flight recorder limits per run: number of dumps, total bytes. The oldest are removed first. */
const MAX_DUMPS = 5;
const MAX_DUMP_BYTES = 256 * 1024 * 1024;
/** Size of the output's end that is stored with the error, bytes. */
const TAIL_BYTES = 64 * 1024;

/** Written files and write errors. */
export interface OomEvidence {
  /** Paths within the run directory, with "/" between names. */
  readonly files: readonly string[];
  /** The newest Stormlog dump within the run directory; null when none was written. */
  readonly dump: string | null;
  /** Sentences about missing evidence. */
  readonly notes: readonly string[];
}

export interface OomEvidenceOptions {
  /** Also write Stormlog dumps, whose events have a name that telemetry loaders read. */
  readonly dumps: boolean;
}

/** The end of a file; null when it is unreadable or empty. */
function tailOf(file: string): string | null {
  try {
    const text = readTail(file, TAIL_BYTES, "refuse").toString("utf8");
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

/** The errors with a dump: the first, which is the cause, and the last ones. */
function dumped(records: readonly ProbeOom[]): readonly ProbeOom[] {
  const [first] = records;
  if (first === undefined || records.length <= MAX_DUMPS) return records;
  return [first, ...records.slice(1 - MAX_DUMPS)];
}

/** Each error in the recording's form, the first being the run's own. */
function errorsOf(oom: OutOfMemory, records: readonly ProbeOom[], info: RecordingInfo): readonly OutOfMemory[] {
  if (oom.source !== "probe" || records.length < 2) return [oom];
  const startNs = BigInt(info.clock.monotonic_start_ns);
  return dumped(records).map((record, i) => (i === 0 ? oom : { ...oom, ...probeWitness(record, startNs) }));
}

function writeDumps(
  writer: EvidenceWriter,
  errors: readonly OutOfMemory[],
  recording: Recording,
  info: RecordingInfo,
): string | null {
  const written: { readonly name: string; readonly bytes: number }[] = [];
  for (const [i, oom] of errors.entries()) {
    const span = oomWindow(recording, oom.time_ns);
    const dump =
      span === null ? null : stormlogDump({ window: cutToWindow(recording, span), oom, info, sequence: i + 1 });
    if (dump === null) continue;
    const entries = Object.entries(dump.files);
    // The manifest is written last: a dump without one is incomplete.
    const whole = entries.every(([name, text]) => writer.text(`${dump.name}/${name}`, text));
    if (!whole) {
      writer.remove(dump.name);
      continue;
    }
    written.push({ name: dump.name, bytes: entries.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0) });
  }
  let total = written.reduce((sum, { bytes }) => sum + bytes, 0);
  while (written.length > 1 && total > MAX_DUMP_BYTES) {
    const oldest = written.shift();
    if (oldest === undefined) break;
    writer.remove(oldest.name);
    total -= oldest.bytes;
  }
  const newest = written.at(-1);
  return newest === undefined ? null : `${OOM_FOLDER}/${newest.name}`;
}

/**
 * Writes `oom/` of a run that ran out of memory, into its run directory:
 *
 *     oom.json          the error, and every error that the probe recorded
 *     window.parquet    every sample of the last ten seconds
 *     traceback.txt     the stack of the failing request
 *     output-tail.txt   the end of the command's output
 *     <pid>.<n>.oom.<k> the probe's own records, with their .pickle snapshots and the .info of their processes
 *     oom_dump_…        one dump per error in the layout of Stormlog's flight recorder, at most 5 and 256 MiB
 *
 * Nothing is thrown, so that a full disk does not affect the run's other evidence.
 */
export function writeOomEvidence(
  directory: string,
  recording: Recording,
  oom: OutOfMemory,
  info: RecordingInfo,
  options: OomEvidenceOptions,
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
  for (const { snapshot } of dumped(records)) {
    if (snapshot === null || !existsSync(path.join(probe, snapshot))) continue;
    writer.put(snapshot, (file) => moveSnapshot(path.join(probe, snapshot), file));
  }
  const errors = errorsOf(oom, records, info);
  const dump = options.dumps ? writeDumps(writer, errors, recording, info) : null;
  const document = {
    schema: "stormlog.oom/1",
    ...oom,
    exit: info.exit,
    window: span === null ? null : { from_ns: span.fromNs, to_ns: span.toNs },
    // Further errors with a dump.
    later: errors.slice(1),
  };
  writer.text("oom.json", `${JSON.stringify(document, null, 2)}\n`);
  const loss = writer.loss();
  const empty = span === null ? ["no sample is older than the error"] : [];
  return { files: writer.files, dump, notes: [...empty, ...(loss === null ? [] : [loss])] };
}
