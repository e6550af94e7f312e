import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GateError } from "../../core/errors.ts";
import { draws } from "../../core/testing/draws.ts";
import { HEADER_BYTES, RECORD_BYTES, RecordKind, RecordSource } from "../../sampler/record-layout.ts";
import { fieldOf } from "../formats/parquet.ts";
import { EPOCH_NS, type RecordInput, recordBytes } from "../testing/record-bytes.ts";
import { recordingInfo } from "../testing/recordings.ts";
import { heldMemory } from "./held-memory.ts";
import { DEDICATED_CGROUP, peaksOf } from "./host-peak.ts";
import { parseRecordChunks, parseRecordFile } from "./record-file.ts";
import { dataLossNotes, recordFileToRecording } from "./record-recording.ts";

const MS = 1e6;
const MIB = 2 ** 20;

const tick = (ms: number, anonMiB: number, fileMiB = 10, processes = 1): RecordInput => ({
  timeNs: ms * MS,
  kind: RecordKind.tree,
  source: RecordSource.statm,
  values: [(anonMiB + fileMiB) * MIB, anonMiB * MIB, 0, BigInt(processes) | (7n << 32n)],
});
const start = (ms: number, pid: number): RecordInput => ({
  timeNs: ms * MS,
  kind: RecordKind.processStart,
  id: pid,
  values: [1],
});
const status = (ms: number, pid: number, hwmMiB: number, fileMiB = 10): RecordInput => ({
  timeNs: ms * MS,
  kind: RecordKind.process,
  source: RecordSource.status,
  id: pid,
  values: [hwmMiB * MIB, 0, 0, fileMiB * MIB],
});
const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof GateError) return error.code;
    throw error;
  }
  return "none";
};

const small = recordBytes([
  start(0, 5),
  tick(0, 100),
  status(1, 5, 110),
  { timeNs: 2 * MS, kind: RecordKind.device, source: RecordSource.nvml, id: 1, values: [500, 1000, 400, null] },
  { timeNs: 2 * MS, kind: RecordKind.deviceProcess, id: 5, values: [120, 1, 1, 1] },
  { timeNs: 2 * MS, kind: RecordKind.deviceProcess, id: 6, values: [30, 1, 1, 1] },
  { timeNs: 2 * MS, kind: RecordKind.deviceList, id: 1, values: [2, 4000, 0] },
  { timeNs: 3 * MS, kind: RecordKind.error, source: RecordSource.cgroup2, values: [13, 0, 4] },
  { timeNs: 4 * MS, kind: RecordKind.rate, values: [10_000_000, 20_000_000, 0, 0] },
  tick(5, 120),
  { timeNs: 6 * MS, kind: RecordKind.processExit, id: 5, values: [110 * MIB] },
  { timeNs: 7 * MS, kind: RecordKind.stop, values: [2, 0, 100, 50] },
]);

describe("parseRecordFile", () => {
  it("reads header, ticks, devices, processes, errors, rates and the stop", () => {
    const file = parseRecordFile(small, "a.rec");
    expect(file.header).toMatchObject({ epochNs: EPOCH_NS, hostPeriodNs: 5e6, rootPid: 4242, pageSize: 4096 });
    expect([...file.tree.timeNs]).toEqual([0, 5 * MS]);
    expect([...file.tree.anon]).toEqual([100 * MIB, 120 * MIB]);
    expect([...file.tree.processes]).toEqual([1, 1]);
    expect([...file.tree.ticks]).toEqual([1, 1]);
    expect(file.devices).toHaveLength(1);
    expect([...file.lists[0]!.bytes]).toEqual([120, 30]);
    expect([...file.devices[0]!.driver]).toEqual([Number.NaN]);
    expect(file.errors[0]).toMatchObject({ errno: 13, seen: 4 });
    expect(file.stop).toMatchObject({ ticks: 2, deviceCpuNs: 50 });
    expect(file).toMatchObject({ records: 12, skippedRecords: 0, cutBytes: 0, lastNs: 7 * MS });
  });

  it("reads the whole records of a file truncated anywhere, and reports the truncation", () => {
    for (let size = HEADER_BYTES; size <= small.length; size++) {
      const file = parseRecordFile(small.subarray(0, size), "a.rec");
      expect(file.records).toBe(Math.floor((size - HEADER_BYTES) / RECORD_BYTES));
      expect(file.cutBytes).toBe((size - HEADER_BYTES) % RECORD_BYTES);
    }
  });

  it("gives the same result for any split of the bytes into chunks", () => {
    const whole = parseRecordFile(small, "a.rec");
    for (const size of [1, 7, 48, 63, 64, 65, 100]) {
      const chunks = Array.from({ length: Math.ceil(small.length / size) }, (_, i) =>
        small.subarray(i * size, (i + 1) * size),
      );
      expect(parseRecordChunks(chunks, "a.rec")).toEqual(whole);
    }
  });

  it("reads for how many ticks a row of a long run stands, and keeps that as a column", () => {
    const file = parseRecordFile(recordBytes([start(0, 5), tick(0, 100), { ...tick(900, 100), id: 180 }]), "a.rec");
    expect([...file.tree.ticks]).toEqual([1, 180]);
    const [table] = recordFileToRecording(file, null).tables;
    expect([...(table?.columns.ticks ?? [])]).toEqual([1, 180]);
    expect(recordFileToRecording(parseRecordFile(small, "a.rec"), null).tables[0]?.columns.ticks).toBeUndefined();
  });

  it("counts and skips unknown kinds and impossible times", () => {
    const bytes = recordBytes([tick(0, 1), { timeNs: 1, kind: 99 }, { timeNs: 1, kind: 0 }, tick(5, 2)]);
    bytes.writeUInt32LE(0xffffffff, HEADER_BYTES + 3 * RECORD_BYTES + 4);
    const file = parseRecordFile(bytes, "a.rec");
    expect(file).toMatchObject({ records: 4, skippedRecords: 3 });
    expect(file.tree.timeNs).toHaveLength(1);
    expect(dataLossNotes(file).join()).toContain("3 damaged or unknown records");
  });

  it("rejects an empty file, a foreign file, a truncated header and a later version with a code each", () => {
    const later = Buffer.from(small);
    later.writeUInt8(2, 6);
    expect(codeOf(() => parseRecordFile(Buffer.alloc(0), "a"))).toBe("INPUT_EMPTY");
    expect(codeOf(() => parseRecordFile(Buffer.from("time,bytes\n1,2\n"), "a"))).toBe("RECORD_BAD_MAGIC");
    expect(codeOf(() => parseRecordFile(small.subarray(0, 40), "a"))).toBe("INPUT_TRUNCATED");
    expect(codeOf(() => parseRecordFile(later, "a"))).toBe("RECORD_VERSION_UNSUPPORTED");
  });

  it("fails only with a GateError, for any bytes after the header", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), fc.boolean(), (garbage, header) => {
        const bytes = header ? Buffer.concat([small.subarray(0, HEADER_BYTES), garbage]) : Buffer.from(garbage);
        codeOf(() => recordFileToRecording(parseRecordFile(bytes, "a"), null));
      }),
      { numRuns: draws(500) },
    );
  });
});

describe("recordFileToRecording", () => {
  it("makes a full-rate host table, a table per device and marks with text", () => {
    const recording = recordFileToRecording(
      parseRecordFile(small, "a.rec"),
      recordingInfo({ identity: { rank: 3, local_rank: 1, world_size: 8, job_id: null, host: "n", pid: 1 } }),
    );
    expect(recording.tables.map(({ rank, device }) => [rank, device])).toEqual([
      [3, "host"],
      [3, "cuda:1"],
      [3, "cuda:1"],
    ]);
    expect(recording.tables[2]!.columns).toEqual({ job: Float64Array.of(150), others: Float64Array.of(0) });
    expect([...recording.tables[0]!.columns.host!]).toEqual([100 * MIB, 120 * MIB]);
    expect(recording.tables[1]!.columns).not.toHaveProperty("driver");
    expect(recording.worldSize).toBe(8);
    expect(recording.marks.map((mark) => mark.kind)).toEqual([
      "process-start",
      "source-error",
      "rate-change",
      "process-exit",
      "stop",
    ]);
    expect(recording.marks[1]!.text).toBe("cgroup2: permission denied (EACCES), 4 times");
  });

  it("puts cgroup samples on the tick at or before them and marks out-of-memory kills", () => {
    const cgroup = (ms: number, current: number, kills: number): RecordInput => ({
      timeNs: ms * MS,
      kind: RecordKind.cgroup,
      values: [current, 999, kills, current],
    });
    const recording = recordFileToRecording(
      parseRecordFile(recordBytes([tick(0, 1), tick(5, 1), cgroup(7, 50, 2), tick(10, 1), cgroup(11, 60, 3)]), "a"),
      null,
    );
    expect([...recording.tables[0]!.columns.cgroup!]).toEqual([Number.NaN, 50, 60]);
    expect(recording.marks.filter((mark) => mark.kind === "oom")).toHaveLength(1);
  });
});

describe("the job's memory with each shared page counted once", () => {
  const shared = (ms: number, values: readonly (number | null)[], read: number, unread = 0): RecordInput => ({
    timeNs: ms * 1e6,
    kind: RecordKind.hostShared,
    values: [...values.map((mib) => (mib === null ? null : mib * MIB)), BigInt(read) | (BigInt(unread) << 32n)],
  });
  const of = (...records: RecordInput[]) => {
    const file = parseRecordFile(recordBytes([tick(0, 500), ...records]), "a");
    const columns = recordFileToRecording(file, null).tables.flatMap((table) =>
      table.columns.host_shared_once || table.columns.host_unmapped ? [table.columns] : [],
    );
    return { columns: columns[0], tables: columns.length, lost: dataLossNotes(file).join() };
  };
  const mib = (column: Float64Array | undefined) => column && [...column].map((bytes) => bytes / MIB);

  it("memory with shared pages counted once has its own table, with the shared memory that no process maps", () => {
    const { columns } = of(shared(10, [300, 100, 400], 5), shared(20, [310, 100, 80], 5));
    expect(mib(columns?.host_shared_once)).toEqual([300, 310]);
    // More is mapped than is charged: pages of another group's file.
    expect(mib(columns?.host_unmapped)).toEqual([300, 0]);
  });

  it("memory with shared pages counted once is unknown where a process could not be read, and this is reported", () => {
    const { columns, lost } = of(shared(10, [300, 100, 400], 5), shared(20, [null, null, 400], 4, 1));
    expect(mib(columns?.host_shared_once)).toEqual([300, Number.NaN]);
    expect(mib(columns?.host_unmapped)).toEqual([300, Number.NaN]);
    expect(lost).toContain("smaps_rollup of 1 process cannot be read");
  });

  it("memory with shared pages counted once has no column for a value that no reading contains", () => {
    expect(of(shared(10, [300, 100, null], 5)).columns).not.toHaveProperty("host_unmapped");
    expect(of(shared(10, [null, null, null], 0, 2)).tables).toBe(0);
    expect(of().tables).toBe(0);
  });
});

describe("descriptors and threads", () => {
  const tables = (...records: RecordInput[]) =>
    recordFileToRecording(parseRecordFile(recordBytes(records), "a"), null).tables.map(({ device, columns }) => [
      device,
      Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, [...values]])),
    ]);
  const counts = (timeNs: number, ...values: (number | null)[]) => ({ timeNs, kind: RecordKind.counts, values });

  it("descriptors and threads have a table of their own, unknown where those of one process are", () => {
    expect(tables(counts(10, 7, 3), counts(20, null, 4))).toEqual([
      ["host", { descriptors: [7, Number.NaN], threads: [3, 4] }],
    ]);
    expect(tables(counts(10, null, 3))).toEqual([["host", { threads: [3] }]]);
    expect(tables(counts(10, null, null))).toEqual([]);
  });

  it("a Parquet file names them without bytes", () => {
    expect([fieldOf("descriptors"), fieldOf("threads"), fieldOf("host")]).toEqual([
      "descriptors",
      "threads",
      "host_bytes",
    ]);
  });
});

describe("peaksOf", () => {
  const peak = (records: RecordInput[], dedicated = false) => {
    const sources = [
      { name: "cgroup", available: true, reason: null, capabilities: dedicated ? [DEDICATED_CGROUP] : [] },
    ];
    const file = parseRecordFile(recordBytes(records), "a");
    return peaksOf(file, heldMemory(file, file.tree), recordingInfo({ sources }))[0];
  };

  it("peaksOf gives an exact peak for a single process that stayed below its last high-water mark", () => {
    const found = peak([
      start(0, 5),
      tick(0, 50),
      status(0, 5, 60),
      tick(50, 55),
      status(100, 5, 1034),
      tick(105, 60),
      status(200, 5, 1034),
      tick(250, 70),
    ]);
    expect(found).toEqual({
      rank: 0,
      device: "host",
      metric: "host",
      bytes: 1024 * MIB,
      kind: "exact",
      source: "VmHWM",
    });
  });

  it("peaksOf gives a sampled peak when the process grew past the mark after the mark was last read", () => {
    const found = peak([start(0, 5), tick(0, 50), status(0, 5, 60), status(100, 5, 62), tick(150, 300)]);
    expect(found).toMatchObject({ kind: "sampled", bytes: 300 * MIB });
  });

  it("peaksOf gives a sampled peak for several processes, raised to what one process's mark proves", () => {
    const found = peak([
      start(0, 5),
      start(0, 6),
      tick(0, 50, 10, 2),
      status(0, 5, 60),
      status(100, 5, 510, 15),
      tick(105, 60, 10, 2),
    ]);
    expect(found).toEqual({
      rank: 0,
      device: "host",
      metric: "host",
      bytes: 495 * MIB,
      kind: "sampled",
      source: "VmHWM",
    });
  });

  it("ignores a mark that was read once, which may be that of the parent before exec", () => {
    expect(peak([start(0, 5), tick(0, 2), status(0, 5, 618)])).toMatchObject({ kind: "sampled", bytes: 2 * MIB });
    const launched = [start(0, 5), tick(0, 2), status(0, 5, 618), status(100, 5, 12), status(200, 5, 12)];
    expect(peak(launched)).toMatchObject({ kind: "exact", bytes: 2 * MIB });
  });

  it("peaksOf gives no exact peak when exec replaced a program", () => {
    const replaced = [
      start(0, 5),
      tick(0, 2),
      status(0, 5, 600),
      status(100, 5, 618),
      status(200, 5, 12),
      status(300, 5, 12),
    ];
    expect(peak(replaced)).toMatchObject({ kind: "sampled", bytes: 2 * MIB });
  });

  it("stays exact when the mark falls by the few pages of error of the kernel's counters", () => {
    const wobbling = [
      start(0, 5),
      tick(0, 2),
      status(0, 5, 1),
      status(100, 5, 1000),
      status(200, 5, 999),
      tick(250, 10),
    ];
    expect(peak(wobbling)).toMatchObject({ kind: "exact", bytes: 990 * MIB });
  });

  it("peaksOf takes an exact peak from a cgroup only if the group is the job's own and page cache did not move", () => {
    const cgroup = (ms: number, current: number, peakMiB: number, anon: number): RecordInput => ({
      timeNs: ms * MS,
      kind: RecordKind.cgroup,
      values: [current * MIB, peakMiB * MIB, 0, anon * MIB],
    });
    const ticks = [tick(0, 100, 10, 2), tick(5, 100, 10, 2), start(0, 5), start(0, 6)];
    const steady = [...ticks, cgroup(1, 120, 120, 100), cgroup(100, 120, 900, 100)];
    expect(peak(steady, true)).toMatchObject({ kind: "exact", bytes: 880 * MIB, source: "cgroup memory.peak" });
    expect(peak(steady, false)).toMatchObject({ kind: "sampled", bytes: 100 * MIB });
    expect(peak([...ticks, cgroup(1, 120, 120, 100), cgroup(100, 800, 900, 100)], true)).toMatchObject({
      kind: "sampled",
    });
  });

  it("peaksOf gives no peak for a file without ticks", () => {
    expect(peak([])).toBeUndefined();
  });
});
