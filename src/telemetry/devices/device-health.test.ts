import { describe, expect, it } from "vitest";
import { DeviceEvent, RecordKind, RecordSource } from "../../sampler/record-layout.ts";
import { parseRecordFile } from "../reading/record-file.ts";
import { recordFileToRecording } from "../reading/record-recording.ts";
import { deviceRun, failed, happened, MS, reading } from "../testing/device-records.ts";
import { type RecordInput, recordBytes } from "../testing/record-bytes.ts";

const recorded = (records: readonly RecordInput[]) =>
  recordFileToRecording(parseRecordFile(recordBytes([reading(0, 1, 5), ...records]), "a.rec"), deviceRun([1]));
const eventsOf = (records: readonly RecordInput[]) =>
  recorded(records).health?.map(({ kind, device, code, count, timeNs }) => [kind, device, code, count, timeNs / MS]);

const error = (id: number, source: RecordSource, errno: number): RecordInput => ({
  timeNs: MS,
  kind: RecordKind.error,
  source,
  id,
  values: [errno, 0, 1],
});

describe("device events", () => {
  it("device events have one entry per kind and code, at its first time, with a count", () => {
    const records = [
      failed(5, 1, 15, 1),
      failed(9, 1, 15, 64),
      happened(2, 1, DeviceEvent.xid, 31),
      happened(7, 1, DeviceEvent.xid, 79),
    ];
    expect(eventsOf(records)).toEqual([
      ["xid", "cuda:1", 31, 1, 2],
      ["lost", "cuda:1", 15, 64, 5],
      ["xid", "cuda:1", 79, 1, 7],
    ]);
  });

  it("concern all devices when the driver failed, and none when the number is not a device's", () => {
    expect(eventsOf([failed(1, -1, 18), failed(1, 77, 15)])).toEqual([["driver-mismatch", "all", 18, 1, 1]]);
  });

  it("report a loss when a card's files are gone, not when a process's are", () => {
    expect(eventsOf([error(1, RecordSource.fdinfo, 2), error(1, RecordSource.nvml, 19)])).toBeUndefined();
    expect(eventsOf([error(1, RecordSource.amd, 2)])).toEqual([["lost", "cuda:1", 2, 1, 1]]);
    expect(eventsOf([error(1, RecordSource.fdinfo, 19)])).toEqual([["lost", "cuda:1", 19, 1, 1]]);
  });

  it("device events of a later release are ignored", () => {
    expect(eventsOf([happened(1, 1, 99, 5)])).toBeUndefined();
  });

  it("device events are bounded for any number of codes of a broken device", () => {
    const storm = Array.from({ length: 5000 }, (_, i) => happened(1, 1, DeviceEvent.xid, 1000 + i));
    expect(eventsOf(storm)).toHaveLength(256);
  });

  it("marks describe device events, and errors with the meaning of the driver's code", () => {
    const { marks } = recorded([happened(1, 1, DeviceEvent.xid, 79), failed(2, 1, 999, 3), failed(3, 1, 77)]);
    expect(marks.map(({ text }) => text)).toEqual([
      "cuda:1: Xid 79",
      "nvml device 1: unknown error (code 999), 3 times",
      "nvml device 1: failed with code 77",
    ]);
  });
});
