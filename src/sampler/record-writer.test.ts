import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HEADER_BYTES, RECORD_BYTES, RECORD_MAGIC, RecordKind, RecordSource } from "./record-layout.ts";
import { RecordWriter } from "./record-writer.ts";

const START = {
  monotonicStartNs: 123456789012345n,
  epochNs: 1790000000123456789n,
  hostPeriodNs: 5_000_000,
  devicePeriodNs: 20_000_000,
  rootPid: 4242,
  pageSize: 4096,
};

describe("RecordWriter", () => {
  let directory: string;
  let file: string;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
    file = path.join(directory, "samples.rec");
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it("writes the header of the layout at once", () => {
    new RecordWriter(file, START);
    const header = readFileSync(file);
    expect(header.length).toBe(HEADER_BYTES);
    expect(header.toString("latin1", 0, 8)).toBe(RECORD_MAGIC);
    expect([header.readUInt32LE(8), header.readUInt32LE(12)]).toEqual([HEADER_BYTES, RECORD_BYTES]);
    expect([header.readBigUInt64LE(16), header.readBigInt64LE(24)]).toEqual([START.monotonicStartNs, START.epochNs]);
    expect([header.readBigUInt64LE(32), header.readBigUInt64LE(40)]).toEqual([5_000_000n, 20_000_000n]);
    expect([header.readInt32LE(48), header.readUInt32LE(52)]).toEqual([4242, 4096]);
  });

  it("writes values beyond 32 bits exactly, and marks unknown ones by their valid bit", () => {
    const writer = new RecordWriter(file, START);
    writer.add(2 ** 40 + 7, RecordKind.process, 77, [2 ** 45 + 3, null, 0, undefined], RecordSource.status);
    writer.close(2 ** 40 + 8);
    const record = readFileSync(file).subarray(HEADER_BYTES);
    expect(record.length).toBe(RECORD_BYTES);
    expect(Number(record.readBigUInt64LE(0))).toBe(2 ** 40 + 7);
    expect([record[8], record[9], record.readUInt16LE(10), record.readInt32LE(12)]).toEqual([2, 0b101, 2, 77]);
    expect([16, 24, 32, 40].map((at) => Number(record.readBigUInt64LE(at)))).toEqual([2 ** 45 + 3, 0, 0, 0]);
  });

  it("writes records to disk 100 ms after the last flush, and when its buffer is full", () => {
    const writer = new RecordWriter(file, START);
    const size = () => (readFileSync(file).length - HEADER_BYTES) / RECORD_BYTES;
    writer.add(1, RecordKind.tree, -1, [1]);
    writer.flushIfDue(99_000_000);
    expect(size()).toBe(0);
    writer.flushIfDue(100_000_000);
    expect(size()).toBe(1);
    for (let i = 0; i < 1500; i++) writer.add(100_000_001 + i, RecordKind.tree, -1, [1]);
    expect(size()).toBe(1025);
    writer.close(100_001_501);
    writer.close(100_001_501);
    writer.add(100_001_502, RecordKind.tree, -1, [1]);
    expect(size()).toBe(1501);
  });

  it("RecordWriter does not overwrite a file", () => {
    new RecordWriter(file, START).close(0);
    expect(() => new RecordWriter(file, START)).toThrow(/EEXIST/);
  });
});
