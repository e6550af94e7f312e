import { describe, expect, it } from "vitest";
import { DeviceEvent, RecordKind, RecordSource } from "../../sampler/record-layout.ts";
import { parseRecordFile } from "../recording/record-file.ts";
import { recordFileToRecording } from "../recording/record-recording.ts";
import { deviceRun, failed, happened, MS, reading } from "../testing/device-records.ts";
import { type RecordInput, recordBytes } from "../testing/record-bytes.ts";

const recorded = (records: readonly RecordInput[]) =>
  recordFileToRecording(parseRecordFile(recordBytes([reading(0, 1, 5), ...records]), "a.rec"), deviceRun([1]));
const told = (records: readonly RecordInput[]) =>
  recorded(records).health?.map(({ kind, device, code, count, timeNs }) => [kind, device, code, count, timeNs / MS]);

const error = (id: number, source: RecordSource, errno: number): RecordInput => ({
  timeNs: MS,
  kind: RecordKind.error,
  source,
  id,
  values: [errno, 0, 1],
});

describe("what became of devices", () => {
  it("is one entry for each kind, at its first time, with how often it was seen", () => {
    const records = [
      failed(5, 1, 15, 1),
      failed(9, 1, 15, 64),
      happened(2, 1, DeviceEvent.xid, 31),
      happened(7, 1, DeviceEvent.xid, 79),
    ];
    expect(told(records)).toEqual([
      ["xid", "cuda:1", 31, 1, 2],
      ["lost", "cuda:1", 15, 64, 5],
      ["xid", "cuda:1", 79, 1, 7],
    ]);
  });

  it("is of all devices where the driver itself failed, and of nobody where the number is no device's", () => {
    expect(told([failed(1, -1, 18), failed(1, 77, 15)])).toEqual([["driver-mismatch", "all", 18, 1, 1]]);
  });

  it("is no loss where a process's files are gone, but where a card's are", () => {
    expect(told([error(1, RecordSource.fdinfo, 2), error(1, RecordSource.nvml, 19)])).toBeUndefined();
    expect(told([error(1, RecordSource.amd, 2)])).toEqual([["lost", "cuda:1", 2, 1, 1]]);
    expect(told([error(1, RecordSource.fdinfo, 19)])).toEqual([["lost", "cuda:1", 19, 1, 1]]);
  });

  it("of a later release is left out", () => {
    expect(told([happened(1, 1, 99, 5)])).toBeUndefined();
  });

  it("stays bounded, however many numbers a broken device sends", () => {
    const storm = Array.from({ length: 5000 }, (_, i) => happened(1, 1, DeviceEvent.xid, 1000 + i));
    expect(told(storm)).toHaveLength(256);
  });

  it("stands among the marks in words, errors with what the driver's answer means", () => {
    const { marks } = recorded([happened(1, 1, DeviceEvent.xid, 79), failed(2, 1, 999, 3), failed(3, 1, 77)]);
    expect(marks.map(({ text }) => text)).toEqual([
      "cuda:1: Xid 79",
      "nvml device 1: unknown error (code 999), 3 times",
      "nvml device 1: failed with code 77",
    ]);
  });
});
