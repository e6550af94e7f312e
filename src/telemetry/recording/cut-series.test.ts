import { describe, expect, it } from "vitest";
import { analyze } from "../../analysis/analyze.ts";
import { measuredRun } from "../../analysis/measured-run.ts";
import { AllocatorKind, ProbeTrouble, RecordKind, RecordSource, SampleReason } from "../../sampler/record-layout.ts";
import { mergeRecordings } from "../reading/merge.ts";
import { parseRecordFile } from "../reading/record-file.ts";
import { recordFileToRecording } from "../reading/record-recording.ts";
import { type RecordInput, recordBytes } from "../testing/record-bytes.ts";
import { recordingInfo } from "../testing/recordings.ts";
import type { Recording } from "./model.ts";
import { parseRecordingInfo } from "./run-info.ts";

const MS = 1e6;
const source = RecordSource.probe;

/** A rank's process and its stream, which has the number of the rank. */
const rank = (id: number, pid: number): RecordInput => {
  const identity = id + 1 + 4 * 2 ** 16 + 2 ** 32;
  return { timeNs: 0, kind: RecordKind.stream, source, id, values: [pid, AllocatorKind.hostHeap, 0, identity] };
};
const row = (ms: number, id: number, reason: number = SampleReason.timer): RecordInput => {
  return { timeNs: ms * MS, kind: RecordKind.allocator, source, id, values: [1, null, null, null], reason };
};
const problem = (pid: number, code: number): RecordInput => {
  return { timeNs: 500 * MS, kind: RecordKind.error, source, id: pid, values: [0, code, 1] };
};
const tick: RecordInput = { timeNs: 900 * MS, kind: RecordKind.tree, values: [1, 1, 0, 1n] };
const stop: RecordInput = { timeNs: 1000 * MS, kind: RecordKind.stop, values: [2, 0, 100, 50] };
const recorded = (records: readonly RecordInput[]): Recording =>
  recordFileToRecording(parseRecordFile(recordBytes(records), "a.rec"), null);

const RANKS = [rank(0, 5), rank(1, 6), rank(2, 7), row(1, 0), row(1, 1), row(1, 2)];
const heapOf = (at: number) => ({ rank: at, device: "host", metric: "allocated" as const });
const withLost = (code: number): Recording =>
  // Process 6 ended in order: what became of another file of its number cost it no sample.
  recorded([...RANKS, problem(5, code), problem(6, code), row(600, 1, SampleReason.end), tick, stop]);

describe("series whose samples end early", () => {
  it.each([ProbeTrouble.notARing, ProbeTrouble.ringTruncated])(
    "a process whose ring was lost before it ended (code %i) has cut series, in the measured run as well",
    (code) => {
      const recording = withLost(code);
      expect(recording.cut).toEqual([heapOf(0)]);
      const { series } = measuredRun(analyze(recording), { session: "s", commit: null });
      expect(series.filter(({ cut }) => cut === true)).toMatchObject([heapOf(0)]);
    },
  );

  it("a process with overwritten samples has no cut series", () => {
    expect(withLost(ProbeTrouble.recordsLost).cut).toBeUndefined();
  });

  it("all series of a record file without its last record are cut", () => {
    const host = { rank: 0, device: "host", metric: "host" };
    expect(recorded([...RANKS, tick]).cut).toEqual([host, heapOf(0), heapOf(1), heapOf(2)]);
  });

  it("stay so in recording.json and where shards are merged", () => {
    const { cut } = withLost(ProbeTrouble.notARing);
    const text = JSON.stringify({ ...recordingInfo(), cut });
    expect(parseRecordingInfo(text, "recording.json").cut).toEqual(cut);
    const other = { ...withLost(ProbeTrouble.recordsLost), tables: [] };
    expect(mergeRecordings([other, withLost(ProbeTrouble.notARing)]).cut).toEqual(cut);
  });
});
