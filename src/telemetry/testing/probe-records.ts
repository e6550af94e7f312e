import { AllocatorKind, RecordKind, RecordSource, SampleReason } from "../../sampler/record-layout.ts";
import { parseRecordFile } from "../reading/record-file.ts";
import { recordFileToRecording } from "../reading/record-recording.ts";
import type { Recording, RecordingInfo } from "../recording/model.ts";
import { type RecordInput, recordBytes } from "./record-bytes.ts";

/** Records as the probe's processes write them; times in milliseconds. */

const MS = 1e6;

interface StreamOf {
  readonly id?: number;
  readonly pid?: number;
  readonly kind?: AllocatorKind;
  readonly index?: number;
  readonly rank?: number;
  readonly worldSize?: number;
  readonly role?: number;
  readonly flags?: number;
}

export const stream = ({
  id = 0,
  pid = 5,
  kind = AllocatorKind.hostHeap,
  index = 0,
  rank = -1,
  worldSize = -1,
  role = 0,
  flags = 0,
}: StreamOf): RecordInput => ({
  timeNs: 0,
  kind: RecordKind.stream,
  source: RecordSource.probe,
  id,
  values: [pid, kind, index, rank + 1 + (worldSize + 1) * 2 ** 16 + role * 2 ** 32 + flags * 2 ** 40],
});
export const row = (
  ms: number,
  id: number,
  [allocated, reserved = null, step = null]: readonly (number | null)[],
  reason: number = SampleReason.timer,
): RecordInput => ({
  timeNs: ms * MS,
  kind: RecordKind.allocator,
  source: RecordSource.probe,
  id,
  values: [allocated ?? null, reserved, null, step],
  reason,
});
export const peaks = (ms: number, id: number, values: readonly (number | null)[]): RecordInput => ({
  timeNs: ms * MS,
  kind: RecordKind.allocatorPeaks,
  source: RecordSource.probe,
  id,
  values,
});
export const stepOf = (ms: number, pid: number, step: number): RecordInput => ({
  timeNs: ms * MS,
  kind: RecordKind.step,
  source: RecordSource.probe,
  id: pid,
  values: [step],
});
export const tick = (ms: number, anon: number): RecordInput => ({
  timeNs: ms * MS,
  kind: RecordKind.tree,
  values: [anon, anon, 0, 1n],
});
export const exit = (ms: number, pid: number): RecordInput => ({
  timeNs: ms * MS,
  kind: RecordKind.processExit,
  id: pid,
});
export const start = (ms: number, pid: number): RecordInput => ({
  timeNs: ms * MS,
  kind: RecordKind.processStart,
  id: pid,
  values: [1],
});

export const fileOf = (records: readonly RecordInput[]) => parseRecordFile(recordBytes(records), "a.rec");
export const recorded = (records: readonly RecordInput[], info: RecordingInfo | null = null): Recording =>
  recordFileToRecording(fileOf(records), info);
export const tableOf = (
  { tables }: Recording,
  rank: number,
  device: string,
  column: "allocated" | "used" | "host" | "python",
) => tables.find((table) => table.rank === rank && table.device === device && table.columns[column] !== undefined);
