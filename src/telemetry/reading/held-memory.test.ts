import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RecordKind, RecordSource } from "../../sampler/record-layout.ts";
import { type RecordInput, recordBytes } from "../testing/record-bytes.ts";
import { heldMemory } from "./held-memory.ts";
import { parseRecordFile } from "./record-file.ts";

const MIB = 2 ** 20;
const at = (ms: number, kind: number, values: (number | bigint | null)[], id = -1): RecordInput => ({
  timeNs: ms * 1e6,
  kind,
  source: RecordSource.statm,
  id,
  values,
});
const tick = (ms: number, anon: number, shmem = 0, processes = 1): RecordInput =>
  at(ms, RecordKind.tree, [(anon + shmem) * MIB, anon * MIB, shmem * MIB, BigInt(processes)]);
/** A reading of all processes that took 10 ms: what they hold, and of it their shared memory. */
const reading = (ms: number, once: number, mapped = 0, charged: number | null = null): RecordInput =>
  at(ms, RecordKind.hostShared, [once * MIB, mapped * MIB, charged === null ? null : charged * MIB, 1n], 10_000);
const start = (ms: number, pid: number, parent: number): RecordInput => at(ms, RecordKind.processStart, [parent], pid);
const status = (ms: number, pid: number, anon: number, shmem = 0): RecordInput =>
  at(ms, RecordKind.process, [anon * MIB, anon * MIB, shmem * MIB, 0], pid);
const exit = (ms: number, pid: number): RecordInput => at(ms, RecordKind.processExit, [null], pid);

/** Readings are of as many processes as the tick before them has. */
function held(...records: RecordInput[]) {
  let read: number | bigint | null = 1n;
  const counted = records.map((one) => {
    if (one.kind === RecordKind.tree) read = one.values?.[3] ?? null;
    return one.kind === RecordKind.hostShared ? { ...one, values: [...(one.values ?? []).slice(0, 3), read] } : one;
  });
  const file = parseRecordFile(recordBytes(counted), "a");
  const { host, isCorrected } = heldMemory(file, file.tree);
  return { host: [...host].map((bytes) => Math.round(bytes / MIB)), isCorrected };
}

describe("the memory that a process tree holds", () => {
  it("the memory that a tree holds is the sum over its processes where nothing was read of all of them", () => {
    expect(held(tick(0, 100), tick(10, 120))).toEqual({ host: [100, 120], isCorrected: false });
  });

  it("the memory that a tree holds is the sum where a reading lies within what the sum passed meanwhile", () => {
    const { host, isCorrected } = held(tick(0, 100), reading(1, 112), tick(5, 110), tick(10, 120), tick(20, 140));
    expect([host, isCorrected]).toEqual([[100, 110, 120, 140], false]);
  });

  it("pages that workers share more and more of are counted once between and after two readings, too", () => {
    // Three workers touch a pool of 160 MiB, which is there already.
    const { host } = held(
      ...[1, 2, 3, 4].map((pid) => start(0, pid, pid === 1 ? 0 : 1)),
      ...Array.from({ length: 21 }, (_, i) => [
        status(100 * i, 1, 10, 160),
        ...[2, 3, 4].map((pid) => status(100 * i, pid, 5, 8 * i)),
        tick(100 * i, 25, 160 + 24 * i, 4),
        ...(i === 0 || i === 6 ? [reading(100 * i, 185, 160)] : []),
      ]).flat(),
    );
    expect([Math.min(...host), Math.max(...host)]).toEqual([185, 185]);
  });

  it("shared memory of segments that no two processes have is counted in full", () => {
    const { host } = held(
      start(0, 1, 0),
      start(0, 2, 0),
      ...[0, 1, 2, 3].flatMap((i) => [
        status(100 * i, 1, 5, 100),
        status(100 * i, 2, 5, 100 + 10 * i),
        tick(100 * i, 10, 200 + 10 * i, 2),
        ...(i === 1 ? [reading(100, 225, 215)] : []),
      ]),
    );
    expect(host).toEqual([210, 220, 230, 240]);
  });

  it("a fork does not double what its parent holds, not even for an instant between two readings", () => {
    const { host } = held(
      start(0, 1, 0),
      tick(0, 100),
      status(0, 1, 100),
      reading(1, 100),
      start(300, 2, 1),
      tick(300, 200, 0, 2),
      status(300, 2, 100),
      tick(305, 208, 0, 2),
      exit(400, 2),
      tick(400, 100),
      reading(1001, 100),
      tick(1001, 100),
    );
    expect(host).toEqual([100, 100, 108, 100, 100]);
  });

  it("a reading is compared with the ticks of the processes that it read, and with no others", () => {
    // The tree is found process by process; nothing is known of what the children have of their parent.
    const { host } = held(tick(0, 106), tick(5, 424, 0, 4), reading(1, 106), tick(10, 424, 0, 4));
    expect(host.slice(1)).toEqual([106, 106]);
  });

  it("a reading of a process that is freeing its memory to end does not lower what was held before", () => {
    const { host } = held(
      start(0, 1, 0),
      start(0, 2, 1),
      tick(0, 30, 0, 2),
      reading(1, 30),
      tick(20, 50, 0, 2),
      tick(40, 70, 0, 2),
      reading(45, 24),
      exit(48, 2),
      tick(60, 10, 0, 1),
    );
    expect(host).toEqual([30, 50, 70, 10]);
    // It has freed a part at one tick, and more at the reading.
    const part = held(
      tick(0, 30),
      reading(1, 30),
      tick(20, 50),
      tick(40, 70),
      reading(45, 53),
      tick(60, 60),
      tick(70, 10),
    );
    expect(part.host).toEqual([30, 50, 70, 60, 10]);
  });

  it("a child that starts another program is counted in full from then on", () => {
    const { host } = held(
      start(0, 1, 0),
      tick(0, 100),
      status(0, 1, 100),
      start(10, 2, 1),
      tick(10, 200, 0, 2),
      status(10, 2, 100),
      tick(110, 104, 0, 2),
      status(110, 2, 4),
      reading(500, 104),
      tick(500, 104, 0, 2),
      tick(520, 154, 0, 2),
    );
    // Until its new program was read, at most what the child had of its parent is missing.
    expect(host.slice(-2)).toEqual([104, 154]);
    expect(host[1]).toBe(100);
  });

  it("a worker that ends takes with it what was counted twice, from its end on", () => {
    const { host } = held(
      start(0, 1, 0),
      start(0, 2, 1),
      status(0, 1, 15, 200),
      status(0, 2, 5, 200),
      tick(0, 20, 400, 2),
      reading(0, 220, 200),
      tick(500, 20, 400, 2),
      exit(600, 2),
      tick(600, 15, 200, 1),
      reading(1000, 215, 200),
      tick(1000, 15, 200, 1),
    );
    expect(host).toEqual([220, 220, 215, 215]);
  });

  it("anonymous memory that falls after the last reading takes its part of what was counted twice", () => {
    const { host } = held(tick(0, 400, 0, 4), reading(0, 100), tick(500, 430, 0, 4), tick(600, 100, 0, 1));
    expect(host).toEqual([100, 130, 25]);
    // What was not part of the sum does not fall with it.
    expect(held(tick(0, 100), reading(0, 100, 0, 96), tick(500, 50)).host).toEqual([196, 146]);
  });

  it("swap that the sum lacks and files that no process maps are held", () => {
    expect(held(tick(0, 100), reading(0, 150), tick(10, 100)).host).toEqual([150, 150]);
    expect(held(tick(0, 100), reading(0, 100, 0, 96), tick(10, 100)).host).toEqual([196, 196]);
  });

  it("the memory that a tree holds is never negative, and is a reading's where nothing moves", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 500 })), {
          minLength: 1,
          maxLength: 20,
        }),
        (levels) => {
          const records = levels.flatMap(([sum, once], i) => [
            tick(1000 * i, sum, 0, 2),
            tick(1000 * i + 300, sum, 0, 2),
            reading(1000 * i + 500, once),
            tick(1000 * i + 500, sum, 0, 2),
            tick(1000 * i + 520, sum, 0, 2),
          ]);
          const { host } = held(...records);
          expect(Math.min(...host)).toBeGreaterThanOrEqual(0);
          for (const [i, [sum, once]] of levels.entries())
            expect(Math.abs(host[4 * i + 2]! - once)).toBeLessThanOrEqual(1 + 0.005 * sum);
        },
      ),
    );
  });
});
