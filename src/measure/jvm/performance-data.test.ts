import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { heapCounters, PerformanceData } from "./performance-data.ts";

const recorded = (name: string): Buffer =>
  gunzipSync(readFileSync(path.join(import.meta.dirname, "fixtures", `${name}.hsperfdata.gz`)));

/** Offset of the entry that has a name. */
function entryOf(bytes: Buffer, name: string): number {
  for (let at = bytes.readInt32LE(24); ; at += bytes.readInt32LE(at)) {
    const from = at + bytes.readInt32LE(at + 4);
    if (bytes.toString("latin1", from, from + name.length + 1) === `${name}\0`) return at;
  }
}

function changed(change: (bytes: Buffer, used: number) => void): Buffer {
  const bytes = recorded("g1-17");
  change(bytes, entryOf(bytes, "sun.gc.generation.1.space.0.used"));
  return bytes;
}

describe("the performance counters of a Java virtual machine", () => {
  it("a G1 heap has a young and an old generation, and no full collection in its first seconds", () => {
    expect(heapCounters(recorded("g1-17"))).toEqual({
      generations: [
        { used: 10_485_760, committed: 53_477_400 },
        { used: 16_651_264, committed: 56_623_112 },
      ],
      fullCollections: 0,
      isShared: false,
      attachable: true,
    });
  });

  it("a serial heap counts its full collections", () => {
    const heap = heapCounters(recorded("serial-17"));
    expect(heap?.fullCollections).toBeGreaterThan(0);
    expect(heap?.generations).toHaveLength(2);
  });

  it("a Z heap is in shared memory, and counts no full collections", () => {
    const heap = heapCounters(recorded("z-25"));
    expect([heap?.fullCollections, heap?.isShared]).toEqual([null, true]);
    expect(heap?.generations.reduce((sum, { used }) => sum + used, 0)).toBeGreaterThan(0);
  });

  it.each([
    ["another magic number", changed((bytes) => bytes.writeUInt32BE(0xcafebabe, 0))],
    ["big-endian numbers", changed((bytes) => bytes.writeUInt8(0, 4))],
    ["counters that are still being made", changed((bytes) => bytes.writeUInt8(0, 7))],
    ["an entry of no length", changed((bytes, used) => bytes.writeInt32LE(0, used))],
    ["an entry of negative length", changed((bytes, used) => bytes.writeInt32LE(-64, used))],
    ["an entry beyond the file", changed((bytes, used) => bytes.writeInt32LE(2 ** 30, used))],
    ["a name outside its entry", changed((bytes, used) => bytes.writeInt32LE(-8, used + 4))],
    ["a value outside its entry", changed((bytes, used) => bytes.writeInt32LE(2 ** 31 - 1, used + 16))],
    ["a first entry within the header", changed((bytes) => bytes.writeInt32LE(0, 24))],
    ["a negative size", changed((bytes, used) => bytes.writeBigInt64LE(-1n, used + bytes.readInt32LE(used + 16)))],
    ["an absurd size", changed((bytes, used) => bytes.writeBigInt64LE(2n ** 60n, used + bytes.readInt32LE(used + 16)))],
    ["no bytes", Buffer.alloc(0)],
    ["zeros", Buffer.alloc(32_768)],
  ])("the counters reject %s", (_, bytes) => {
    expect(heapCounters(bytes)).toBeNull();
  });

  it("the counters never throw, and have no size outside their limits, whatever is changed in the file", () => {
    const bytes = recorded("serial-17");
    const edit = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 40 }), fc.nat(bytes.length), (edits, length) => {
        const damaged = Buffer.from(bytes);
        for (const [at, value] of edits) damaged[at] = value;
        for (const part of [damaged, damaged.subarray(0, length)]) {
          for (const { used, committed } of heapCounters(part)?.generations ?? []) {
            expect(used >= 0 && used <= 10 * 2 ** 50 && committed >= 0 && committed <= 2 ** 50).toBe(true);
          }
        }
      }),
    );
  });
});

describe("the file of the counters", () => {
  const root = mkdtempSync(path.join(tmpdir(), "stormlog-jvm-"));
  const directory = path.join(root, "tmp", "hsperfdata_someone");
  mkdirSync(directory, { recursive: true });
  const good = path.join(directory, "7");
  writeFileSync(good, recorded("g1-17"));
  const uid = process.getuid?.() ?? 0;
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it("the counters are read by the pid that the machine has in its own namespace, and again when it changes", () => {
    const counters = PerformanceData.open(root, 7, uid);
    expect(counters?.read()?.generations[1]?.used).toBe(16_651_264);
    const bytes = recorded("g1-17");
    const used = entryOf(bytes, "sun.gc.generation.1.space.0.used");
    bytes.writeBigInt64LE(5n, used + bytes.readInt32LE(used + 16));
    writeFileSync(good, bytes);
    expect(counters?.read()?.generations[1]?.used).toBe(5);
    truncateSync(good, 100);
    expect(counters?.read()).toBeNull();
    counters?.close();
    writeFileSync(good, recorded("g1-17"));
  });

  it.each([
    ["a link", (file: string) => symlinkSync(good, file)],
    ["a pipe", (file: string) => execFileSync("mkfifo", [file])],
    ["a directory", (file: string) => mkdirSync(file)],
    ["an empty file", (file: string) => writeFileSync(file, "")],
    ["a file that is too large", (file: string) => writeFileSync(file, Buffer.alloc(2 ** 20 + 1))],
  ])("PerformanceData.open refuses %s", (_, make) => {
    const file = path.join(directory, "8");
    rmSync(file, { recursive: true, force: true });
    make(file);
    expect(PerformanceData.open(root, 8, uid)).toBeNull();
  });

  it("PerformanceData.open refuses a file of another user, and a linked directory", () => {
    expect(PerformanceData.open(root, 7, uid + 1)).toBeNull();
    const other = path.join(root, "other");
    mkdirSync(path.join(other, "tmp"), { recursive: true });
    symlinkSync(directory, path.join(other, "tmp", "hsperfdata_someone"));
    expect(PerformanceData.open(other, 7, uid)).toBeNull();
    expect(PerformanceData.open(path.join(root, "none"), 7, uid)).toBeNull();
  });
});
