import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { draws } from "../../core/testing/draws.ts";
import {
  AllocatorKind,
  HostHeapIndex,
  ProbeTrouble,
  ProcessRole,
  RecordKind,
  RecordSource,
  SampleReason,
} from "../../sampler/record-layout.ts";
import type { ProbeDevice, ProbeProcess, RecordingInfo } from "../recording/model.ts";
import { exit, fileOf, peaks, recorded, row, start, stepOf, stream, tableOf, tick } from "../testing/probe-records.ts";
import type { RecordInput } from "../testing/record-bytes.ts";
import { recordingInfo } from "../testing/recordings.ts";
import { dataLossNotes, recordFileToRecording } from "./record-recording.ts";

const MS = 1e6;
const MIB = 2 ** 20;
const { step: atStep, end } = SampleReason;

const process = (changes: Partial<ProbeProcess>): ProbeProcess => ({
  pid: 5,
  parent: 1,
  rank: null,
  local_rank: null,
  world_size: null,
  role: "plain",
  framework: "torch",
  versions: {},
  python: "3.11.2",
  heap: null,
  allocator_conf: null,
  steps_from: null,
  devices: [],
  error: null,
  ...changes,
});
const device = (ownName: string, changes: Partial<ProbeDevice> = {}): ProbeDevice => ({
  own_name: ownName,
  name: ownName,
  model: null,
  uuid: null,
  total_bytes: null,
  driver_index: null,
  ...changes,
});
const withProcesses = (...processes: readonly ProbeProcess[]): RecordingInfo =>
  recordingInfo({ probe: { processes, processes_total: processes.length } });

describe("the heap of a process", () => {
  it("the heap of a process is a host table beside those of its pages, each on its own clock, all with steps", () => {
    const recording = recorded([
      tick(0, 9),
      stream({}),
      row(10, 0, [100, 200, 1], atStep),
      tick(15, 10),
      row(20, 0, [110, 200, 1]),
      row(30, 0, [120, 220, 2], atStep),
      tick(35, 12),
    ]);
    expect(recording.tables.map(({ rank, device }) => [rank, device])).toEqual([
      [0, "host"],
      [0, "host"],
      [0, "host"],
    ]);
    const account = recording.tables.find(({ columns }) => columns.unaccounted !== undefined);
    expect([account?.timeNs, account?.steps]).toEqual([
      Float64Array.of(0, 15 * MS, 35 * MS),
      Float64Array.of(Number.NaN, 1, 2),
    ]);
    const heap = tableOf(recording, 0, "host", "allocated");
    expect(heap).toMatchObject({
      timeNs: Float64Array.of(10 * MS, 20 * MS, 30 * MS),
      steps: Float64Array.of(1, 1, 2),
      columns: { allocated: Float64Array.of(100, 110, 120), reserved: Float64Array.of(200, 200, 220) },
      atStep: Uint8Array.of(1, 0, 1),
    });
    expect(tableOf(recording, 0, "host", "host")?.steps).toEqual(Float64Array.of(Number.NaN, 1, 2));
    expect(recording.peaks).toContainEqual({
      rank: 0,
      device: "host",
      metric: "allocated",
      bytes: 120,
      kind: "sampled",
      source: "mallinfo2",
    });
  });

  it("a heap whose library does not count memory in use has only reserved bytes, and names the library", () => {
    const file = fileOf([stream({ pid: 5 }), row(10, 0, [null, 100]), row(20, 0, [null, 200])]);
    const { tables, peaks: known } = recordFileToRecording(file, withProcesses(process({ heap: "mimalloc" })));
    expect(tables[0]?.columns).toEqual({ reserved: Float64Array.of(100, 200) });
    const peak = { rank: 0, device: "host", metric: "reserved", bytes: 200, kind: "sampled", source: "mimalloc" };
    expect(known).toEqual([peak]);
  });

  it("the heap of a rank is that of the process that counts steps; large other heaps are counted", () => {
    const records = [
      stream({ id: 0, pid: 10, role: ProcessRole.agent }),
      stream({ id: 1, pid: 11 }),
      stream({ id: 2, pid: 12 }),
      stream({ id: 3, pid: 13 }),
      row(0, 0, [900 * MIB]),
      row(1, 1, [50 * MIB, null, 1]),
      row(2, 2, [70 * MIB]),
      row(3, 3, [2 * MIB]),
    ];
    expect(recorded(records).tables.map(({ columns }) => columns.allocated)).toEqual([Float64Array.of(50 * MIB)]);
    expect(dataLossNotes(fileOf(records)).join()).toContain(
      "the heap of rank 0 is that of its main process, without 1 other process",
    );
  });

  it("the heap of a rank without steps is that of the rank rather than of its child, else the largest", () => {
    const rank = [
      stream({ id: 0, pid: 10, rank: 0, worldSize: 1, role: ProcessRole.child }),
      stream({ id: 1, pid: 11, rank: 0, worldSize: 1, role: ProcessRole.rank }),
      row(0, 0, [9]),
      row(1, 1, [5]),
    ];
    expect(recorded(rank).tables[0]?.columns.allocated).toEqual(Float64Array.of(5));
    const plain = [stream({ id: 0, pid: 10 }), stream({ id: 1, pid: 11 }), row(0, 0, [9]), row(1, 1, [5])];
    const later = [row(9, 0, [9]), row(10, 1, [5])];
    expect(recorded([...plain, ...later]).tables[0]?.columns.allocated).toEqual(Float64Array.of(9, 9));
  });

  it("the heap of a rank is not that of one of the workers that follow one another", () => {
    const workers = [1, 2, 3].flatMap((id) => [
      stream({ id, pid: 10 + id }),
      ...[0, 5, 10].map((at) => row(20 * id + at, id, [at])),
    ]);
    const recording = recorded(workers);
    expect(recording.tables.flatMap(({ columns }) => Object.keys(columns))).not.toContain("allocated");
    const notes = dataLossNotes(fileOf(workers));
    expect(notes).toContainEqual(expect.stringContaining("none of its processes lasts"));
  });

  it("the heap of a rank without steps is not that of a larger fork that lives shortly", () => {
    const records = [
      stream({ id: 0, pid: 10 }),
      ...[0, 10, 20, 30].map((at) => row(at, 0, [5])),
      stream({ id: 1, pid: 11 }),
      ...[20, 25].map((at) => row(at, 1, [9])),
    ];
    expect(recorded(records).tables[0]?.columns.allocated).toEqual(Float64Array.of(5, 5, 5, 5));
  });

  it("Python's own memory has a table of its own beside the heap, with its blocks", () => {
    const recording = recorded([
      stream({}),
      stream({ id: 1, index: HostHeapIndex.python }),
      row(10, 0, [100, 200, 1], atStep),
      { ...row(11, 1, [70, 90, 1], atStep), values: [70, 90, 3, 1] },
      { ...row(21, 1, [80, 90, 2], atStep), values: [80, 90, 5, 2] },
    ]);
    expect(tableOf(recording, 0, "host", "python")).toMatchObject({
      steps: Float64Array.of(1, 2),
      columns: { python: Float64Array.of(70, 80), blocks: Float64Array.of(3, 5) },
    });
    expect(tableOf(recording, 0, "host", "allocated")?.columns.allocated).toEqual(Float64Array.of(100));
    expect(recording.peaks).toContainEqual(
      expect.objectContaining({ metric: "python", bytes: 80, source: "pymalloc" }),
    );
  });

  it("uses the steps of the step file when its process counts none", () => {
    const recording = recorded([stream({}), stepOf(15, -1, 7), row(10, 0, [1]), row(20, 0, [2]), row(30, 0, [3])]);
    expect(recording.tables[0]?.steps).toEqual(Float64Array.of(Number.NaN, 7, 7));
  });

  it("keeps the last step for the duration of the longest earlier one, and at least two seconds", () => {
    const rows = [0, 1000, 4000, 6900, 7100, 20000].map((ms) => row(ms, 0, [1]));
    const recording = recorded([stream({}), stepOf(0, 5, 1), stepOf(1000, 5, 2), stepOf(4000, 5, 3), ...rows]);
    expect([...recording.tables[0]!.steps!]).toEqual([1, 2, 3, 3, Number.NaN, Number.NaN]);
  });
});

describe("the allocator of a device", () => {
  it("keeps its own peaks, exact when the process ended normally", () => {
    const records = [
      stream({ kind: AllocatorKind.cuda, index: 1 }),
      row(0, 0, [10, 20]),
      peaks(0, 0, [15, 25, 0, 0]),
      row(10, 0, [12, 20]),
      peaks(20, 0, [99, 120, 1, 0]),
      row(20, 0, [11, 20], end),
    ];
    const recording = recorded(records);
    expect(tableOf(recording, 0, "cuda:1", "allocated")?.columns).toEqual({
      allocated: Float64Array.of(10, 12, 11),
      reserved: Float64Array.of(20, 20, 20),
    });
    expect(recording.peaks).toEqual([
      { rank: 0, device: "cuda:1", metric: "allocated", bytes: 99, kind: "exact", source: "max_memory_allocated" },
      { rank: 0, device: "cuda:1", metric: "reserved", bytes: 120, kind: "exact", source: "max_memory_reserved" },
    ]);
    const killed = recorded(records.slice(0, -1)).peaks[0];
    expect(killed).toMatchObject({ bytes: 99, kind: "sampled" });
  });

  it("an allocator has sampled peaks when they were reset, both flagged and detected", () => {
    const flagged = recorded([
      stream({ kind: AllocatorKind.cuda, flags: 16 }),
      peaks(0, 0, [99, null, null, null]),
      row(20, 0, [11], end),
    ]);
    const seen = recorded([
      stream({ kind: AllocatorKind.cuda }),
      peaks(0, 0, [99, null, null, null]),
      peaks(10, 0, [50, null, null, null]),
      row(20, 0, [11], end),
    ]);
    for (const { peaks: known } of [flagged, seen]) {
      expect(known[0]).toMatchObject({
        bytes: 99,
        kind: "sampled",
        source: "max_memory_allocated, reset during the run",
      });
    }
  });

  it("the allocators of a rank's processes are added, each until its end, and their peak is not exact", () => {
    const recording = recorded([
      start(0, 5),
      start(0, 6),
      stream({ id: 0, pid: 5, kind: AllocatorKind.cuda }),
      stream({ id: 1, pid: 6, kind: AllocatorKind.cuda }),
      row(0, 0, [100, 200]),
      row(5, 1, [10, 20]),
      row(10, 0, [110, 200]),
      peaks(10, 0, [500, 600, 0, 0]),
      exit(12, 6),
      row(20, 0, [120, 200], end),
      row(30, 0, [130, 200], end),
    ]);
    const table = tableOf(recording, 0, "cuda:0", "allocated");
    expect(table?.columns.allocated).toEqual(Float64Array.of(100, 110, 120, 120, 130));
    expect(table?.columns.reserved).toEqual(Float64Array.of(200, 220, 220, 200, 200));
    expect(recording.peaks[0]).toMatchObject({ metric: "allocated", bytes: 500, kind: "sampled" });
  });

  it("an allocator's device has torch's name, cuda for a GPU of another framework, or the framework's own name", () => {
    const of = (kind: AllocatorKind, info: RecordingInfo | null = null) =>
      recorded([stream({ kind }), row(0, 0, [1])], info).tables[0]?.device;
    expect(of(AllocatorKind.mps)).toBe("mps:0");
    expect(of(AllocatorKind.xpu)).toBe("xpu:0");
    expect(of(AllocatorKind.tensorflow)).toBe("tf:0");
    expect(of(AllocatorKind.jax)).toBe("jax:0");
    expect(of(AllocatorKind.jax, withProcesses(process({ devices: [device("jax:0", { name: "cuda:0" })] })))).toBe(
      "cuda:0",
    );
  });
});

describe("the driver's devices", () => {
  const used = (index: number): RecordInput => ({
    timeNs: 5 * MS,
    kind: RecordKind.device,
    source: RecordSource.nvml,
    id: index,
    values: [1000 + index, 5000, 4000, 0],
  });

  it("get the rank and name of the process that uses them most, and unused ones keep their number", () => {
    const recording = recorded(
      [
        stream({ id: 0, pid: 5, kind: AllocatorKind.cuda, rank: 0, worldSize: 2, role: ProcessRole.rank }),
        stream({ id: 1, pid: 6, kind: AllocatorKind.cuda, rank: 1, worldSize: 2, role: ProcessRole.rank }),
        row(0, 0, [10]),
        row(0, 1, [20]),
        used(0),
        used(2),
        used(3),
      ],
      withProcesses(
        process({ pid: 5, rank: 0, devices: [device("cuda:0", { driver_index: 2 })] }),
        process({ pid: 6, rank: 1, devices: [device("cuda:0", { driver_index: 3 })] }),
      ),
    );
    expect(
      recording.tables
        .filter(({ columns }) => columns.used)
        .map((table) => [table.rank, table.device, table.columns.used?.[0]]),
    ).toEqual([
      [0, "nvml:0", 1000],
      [0, "cuda:0", 1002],
      [1, "cuda:0", 1003],
    ]);
    expect(recording.worldSize).toBe(2);
  });

  it("keep the driver's name when no process reports them", () => {
    expect(recorded([used(1)]).tables.map(({ rank, device }) => [rank, device])).toEqual([[0, "cuda:1"]]);
  });
});

describe("ranks under one gate", () => {
  const ranks = [0, 1, 2].flatMap((rank) => [
    start(0, 50 + rank),
    stream({ id: rank, pid: 50 + rank, rank, worldSize: 4, role: ProcessRole.rank }),
  ]);

  it("ranks under one gate have a table each, and the world size of their environment", () => {
    const recording = recorded([...ranks, ...[0, 1, 2].map((rank) => row(10, rank, [rank + 1]))]);
    expect(recording.tables.map(({ rank }) => rank)).toEqual([0, 1, 2]);
    expect(recording.worldSize).toBe(4);
  });

  it("a rank that ended first without an exit record is named", () => {
    const killed = [
      ...ranks,
      row(10, 0, [1]),
      row(10, 1, [1]),
      row(10, 2, [1]),
      exit(100, 51),
      row(900, 0, [1], end),
      exit(950, 50),
      exit(960, 52),
    ];
    expect(dataLossNotes(fileOf(killed)).join()).toContain("rank 1 (process 51) ended 0.85 s before any other rank");
    // The sampler may read all ends at once: then the others have an exit record.
    const ended = (rank: number, ms: number) => [row(900, rank, [1], end), exit(ms, 50 + rank)];
    const together = [...ranks, row(10, 1, [1]), ...ended(0, 950), exit(950, 51), ...ended(2, 950)];
    expect(dataLossNotes(fileOf(together)).join()).toContain("rank 1 (process 51) ended without an exit record");
    const orderly = killed.map((record) => (record.id === 1 ? { ...record, reason: end } : record));
    expect(dataLossNotes(fileOf(orderly)).join()).not.toContain("rank 1");
  });
});

describe("errors in a probe's records", () => {
  it("errors in a probe's records are described in sentences, with the last count of a repeated one", () => {
    const trouble = (ms: number, code: number, seen: number): RecordInput => ({
      timeNs: ms * MS,
      kind: RecordKind.error,
      source: RecordSource.probe,
      id: 7,
      values: [0, code, seen],
    });
    const file = fileOf([trouble(1, ProbeTrouble.recordsLost, 10), trouble(2, ProbeTrouble.recordsLost, 85)]);
    const losses = dataLossNotes(file).filter((text) => text.startsWith("probe"));
    expect(losses).toEqual(["probe pid 7: 85 samples were overwritten before they were read"]);
    expect(recordFileToRecording(file, null).marks.map(({ text }) => text)).toContain(
      "probe pid 7: 10 samples were overwritten before they were read",
    );
  });

  it("samples without a stream, of an unknown kind or running backwards are counted and skipped", () => {
    const file = fileOf([
      row(1, 3, [1]),
      stream({ id: 4, kind: 99 as AllocatorKind }),
      stream({ id: 5 }),
      row(2010, 5, [1]),
      row(5, 5, [2]),
      stream({ id: 5, pid: 77 }),
      stepOf(1, -7, 3),
    ]);
    expect(file.skippedRecords).toBe(5);
    expect(file.streams).toHaveLength(1);
  });

  it("yield a recording for any records", () => {
    const value = fc.oneof(fc.constant(null), fc.nat(1e6), fc.constant(2 ** 52));
    const any = fc.record({
      timeNs: fc.nat(1e9),
      kind: fc.constantFrom(12, 13, 14, 15, 6, 7),
      id: fc.integer({ min: -2, max: 5 }),
      values: fc.tuple(value, fc.oneof(value, fc.integer({ min: 1, max: 6 })), value, value),
      reason: fc.nat(15),
    });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 60 }), (records) => {
        const { tables } = recorded(records.map((record) => ({ ...record, source: RecordSource.probe })));
        for (const { timeNs, steps, columns, atStep: marks } of tables) {
          const lengths = [timeNs, steps, marks, ...Object.values(columns)].flatMap((column) =>
            column ? [column.length] : [],
          );
          expect(new Set(lengths).size).toBe(1);
        }
      }),
      { numRuns: draws(300) },
    );
  });
});
