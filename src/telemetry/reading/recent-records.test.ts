import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HEADER_BYTES, RECORD_BYTES, RecordKind } from "../../sampler/record-layout.ts";
import { type RecordInput, recordBytes } from "../testing/record-bytes.ts";
import { RECENT_CAPACITY, RECENT_ENDING, RECENT_MAGIC, recentRecords } from "./recent-records.ts";
import { readRecordFile } from "./record-file.ts";

const tick = (ms: number): RecordInput => ({ timeNs: ms * 1e6, kind: RecordKind.tree, values: [ms, ms, 0, 1n] });
const stop: RecordInput = { timeNs: 1e12, kind: RecordKind.stop, values: [1, 0, 0, 0] };

/** Ticks by the number of their record, as the sampler leaves them. */
function recentBytes(first: number, next: number, timeOf: (n: number) => number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES + RECENT_CAPACITY * RECORD_BYTES);
  bytes.write(RECENT_MAGIC, 0, "latin1");
  for (const [i, value] of [next, first, RECENT_CAPACITY].entries()) bytes.writeBigUInt64LE(BigInt(value), 8 + 8 * i);
  for (let n = first; n < next; n++) {
    const record = recordBytes([tick(timeOf(n))]).subarray(HEADER_BYTES);
    record.copy(bytes, HEADER_BYTES + (n % RECENT_CAPACITY) * RECORD_BYTES);
  }
  return bytes;
}

describe("the newest records of a long run whose gate was killed", () => {
  let directory: string;
  let file: string;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "gate-recent-"));
    file = path.join(directory, "samples.rec");
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const timesOf = async (): Promise<number[]> => [...(await readRecordFile(file)).tree.timeNs].map((ns) => ns / 1e6);

  it("follow those of the record file, also where their slots went round", async () => {
    writeFileSync(file, recordBytes([tick(1), tick(2)]));
    const first = RECENT_CAPACITY - 2;
    writeFileSync(
      `${file}${RECENT_ENDING}`,
      recentBytes(first, first + 4, (n) => 3 + n - first),
    );
    expect(await timesOf()).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("follow whole records alone where the record file is cut, and are read once where both have them", async () => {
    writeFileSync(file, recordBytes([tick(1), tick(2), tick(3)]).subarray(0, -1));
    writeFileSync(
      `${file}${RECENT_ENDING}`,
      recentBytes(0, 4, (n) => n + 1),
    );
    expect(await timesOf()).toEqual([1, 2, 3, 4]);
  });

  it("the newest records do not count where the sampler stopped cleanly", async () => {
    writeFileSync(file, recordBytes([tick(1), stop]));
    writeFileSync(
      `${file}${RECENT_ENDING}`,
      recentBytes(0, 1, () => 2e6),
    );
    expect(await timesOf()).toEqual([1]);
  });

  it("recentRecords returns nothing for an absent, linked or damaged file, and whole records of a cut one", () => {
    const recent = `${file}${RECENT_ENDING}`;
    expect(recentRecords(recent).bytes).toHaveLength(0);
    const whole = recentBytes(5, 9, (n) => n);
    const numbered = (next: bigint, first: bigint, capacity = BigInt(RECENT_CAPACITY)): Buffer => {
      const bytes = Buffer.from(whole);
      for (const [i, value] of [next, first, capacity].entries()) bytes.writeBigUInt64LE(value, 8 + 8 * i);
      return bytes;
    };
    const bad = [
      numbered(4n, 9n),
      numbered(2n ** 60n, 0n),
      numbered(9n, 5n, 7n),
      Buffer.from("no"),
      whole.subarray(0, 63),
    ];
    for (const bytes of bad) {
      writeFileSync(recent, bytes);
      expect(recentRecords(recent).bytes).toHaveLength(0);
    }
    writeFileSync(recent, whole.subarray(0, HEADER_BYTES + 6 * RECORD_BYTES + 7));
    expect(recentRecords(recent).bytes).toHaveLength(RECORD_BYTES);
    rmSync(recent);
    writeFileSync(path.join(directory, "elsewhere"), whole);
    symlinkSync(path.join(directory, "elsewhere"), recent);
    expect(recentRecords(recent).bytes).toHaveLength(0);
  });
});
