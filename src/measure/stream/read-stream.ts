import { closeSync, mkdirSync, openSync, readdirSync, writeFileSync, writeSync } from "node:fs";
import path from "node:path";
import { invalidInput } from "../../core/errors.ts";
import { readBounded } from "../../core/files.ts";
import { plural } from "../../core/text.ts";
import { MIB } from "../../core/units.ts";
import { HEADER_BYTES, RECORD_BYTES } from "../../sampler/record-layout.ts";
import { RECENT_CAPACITY, RECENT_ENDING, RECENT_MAGIC } from "../../telemetry/reading/recent-records.ts";
import { readRecordFile } from "../../telemetry/reading/record-file.ts";
import { recordFileToRecording } from "../../telemetry/reading/record-recording.ts";
import { withFileErrors } from "../../telemetry/recording/input-file.ts";
import type { Recording, RecordingInfo } from "../../telemetry/recording/model.ts";
import { PROBE_FOLDER, RAW_RECORD_FILE, RECORDING_FILE } from "../../telemetry/recording/run-files.ts";
import { readRecordingInfo } from "../../telemetry/recording/run-info.ts";
import { describeRun } from "../session/recording-of.ts";
import { decodeSegment, SEGMENT_NAME, type Segment } from "./segment.ts";

/** After ten seconds, held records are in the record file. */
const MAX_HELD_SEGMENTS = 15;

const base64 = (text: string): Buffer => Buffer.from(text, "base64");

function segmentsIn(directory: string): { readonly segments: readonly Segment[]; readonly cut: number } {
  const names = withFileErrors(directory, () => readdirSync(directory))
    .filter((name) => SEGMENT_NAME.test(name))
    .sort();
  const read = (name: string) => decodeSegment(readBounded(path.join(directory, name), 256 * MIB, "refuse"));
  const segments = names.flatMap((name) => read(name) ?? []);
  return { segments, cut: names.length - segments.length };
}

/** Writes the run directory of a killed gate, as the segments describe it. */
function restore(segments: readonly Segment[], newest: Segment, directory: string): void {
  mkdirSync(path.join(directory, PROBE_FOLDER), { recursive: true });
  const raw = path.join(directory, RAW_RECORD_FILE);
  const fd = openSync(raw, "wx");
  writeSync(fd, base64(newest.header), 0, HEADER_BYTES, 0);
  let end = HEADER_BYTES;
  for (const { records } of segments) {
    // Behind a segment that is missing nothing can be read; one that seemed to fail is there twice.
    if (records.at > end) break;
    end = Math.max(end, records.at + writeSync(fd, base64(records.bytes), 0, null, records.at));
  }
  closeSync(fd);
  const late = segments.slice(-MAX_HELD_SEGMENTS);
  const held = Buffer.concat(late.map((one) => base64(one.held.bytes))).subarray(-RECENT_CAPACITY * RECORD_BYTES);
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(RECENT_MAGIC, 0, "latin1");
  header.writeBigUInt64LE(BigInt(held.length / RECORD_BYTES), 8);
  header.writeBigUInt64LE(BigInt(RECENT_CAPACITY), 24);
  writeFileSync(`${raw}${RECENT_ENDING}`, Buffer.concat([header, held]));
  writeFileSync(path.join(directory, RECORDING_FILE), JSON.stringify(newest.info));
  for (const [name, text] of Object.entries(newest.files)) writeFileSync(path.join(directory, name), base64(text));
}

/**
 * Reads what a run streamed, complete or not.
 * @param into directory in which its files are restored, to be made
 * @throws GateError STREAM_EMPTY, and those of the record file and of `recording.json`
 */
export async function readStreamedRun(
  directory: string,
  into: string,
): Promise<{ readonly recording: Recording; readonly info: RecordingInfo }> {
  const { segments, cut } = segmentsIn(directory);
  const newest = segments.at(-1);
  if (newest === undefined) throw invalidInput("STREAM_EMPTY", "the directory contains no whole segment", directory);
  restore(segments, newest, into);
  const file = await readRecordFile(path.join(into, RAW_RECORD_FILE));
  const info = readRecordingInfo(into);
  if (info.complete) return { recording: recordFileToRecording(file, info), info };
  const lost = cut === 0 ? info.lost : [...info.lost, `${plural(cut, "segment")} cut while written`];
  const clock = { ...info.clock, duration_s: file.lastNs / 1e9 };
  return describeRun(
    { request: { directory: into }, setup: { kind: "on", use: { kind: "none" }, missing: null }, killsBefore: null },
    { info: { ...info, clock, lost }, devices: [], beganNs: null, programs: new Map(newest.programs) },
    file,
  );
}
