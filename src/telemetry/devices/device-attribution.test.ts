import { describe, expect, it } from "vitest";
import { costRatio, MAX_LINEAR_RATIO } from "../../core/testing/cost-ratio.ts";
import { RecordKind, RecordSource } from "../../sampler/record-layout.ts";
import { parseRecordFile } from "../reading/record-file.ts";
import { recordFileToRecording } from "../reading/record-recording.ts";
import type { RecordingInfo } from "../recording/model.ts";
import {
  cudaDevice,
  cudaStream,
  deviceRun,
  GIB,
  held,
  type Listed,
  list,
  MIB,
  MS,
  mark,
  ProcessRole,
  probeProcess,
  reading,
} from "../testing/device-records.ts";
import { type RecordInput, recordBytes } from "../testing/record-bytes.ts";
import { finishedDevices } from "./recorded-devices.ts";

const fileOf = (records: readonly RecordInput[]) => parseRecordFile(recordBytes(records), "a.rec");
const devicesOf = (records: readonly RecordInput[], info: RecordingInfo, beganNs: number | null = 5 * MS) =>
  finishedDevices(fileOf(records), info, { beganNs, marks: [] });
/** The complete run info, and the recording made with it. */
function recorded(records: readonly RecordInput[], info: RecordingInfo) {
  const devices = devicesOf(records, info);
  return { devices, ...recordFileToRecording(fileOf(records), { ...info, devices }) };
}

const torch = [cudaStream({ pid: 50 }), held(500, 0, 100, 200), held(3000, 0, 100, 200)];
const withTorch = deviceRun([0], [probeProcess({ pid: 50, devices: [cudaDevice(0, 0)] })]);
const withoutProbe = deviceRun([0], [], { probe: undefined });

/** A device that goes from 10 MiB to 700 MiB, with lists before the command, in the middle and at the end. */
const run = (before: readonly Listed[], middle: readonly Listed[], end: readonly Listed[] = middle): RecordInput[] => [
  reading(0, 0, 10),
  ...list(1, 0, before),
  reading(1000, 0, 500),
  ...list(1000, 0, middle),
  reading(3000, 0, 700),
  ...list(3000, 0, end),
];

describe("the attribution of a device's memory", () => {
  it("a device's memory is attributed by pid when the driver lists the job's processes", () => {
    const { devices, tables } = recorded(
      [
        ...torch,
        ...run(
          [[7, 20, 0]],
          [
            [50, 480, 1],
            [7, 20, 0],
          ],
          [
            [50, 680, 1],
            [7, 30, 0],
          ],
        ),
      ],
      withTorch,
    );
    expect(devices[0]).toMatchObject({
      attribution: "pid",
      attribution_reason: null,
      baseline_used_bytes: 10 * MIB,
      job_peak_bytes: 680 * MIB,
      job_peak_kind: "sampled",
      others_first_bytes: 20 * MIB,
      others_peak_bytes: 30 * MIB,
      process_lists: 3,
      rate_hz: 0.667,
    });
    expect(tables.find(({ columns }) => columns.job)).toMatchObject({
      rank: 0,
      device: "cuda:0",
      timeNs: Float64Array.of(1 * MS, 1000 * MS, 3000 * MS),
      columns: { job: Float64Array.of(0, 480 * MIB, 680 * MIB), others: Float64Array.of(20 * MIB, 20 * MIB, 30 * MIB) },
    });
  });

  it("a device's memory is attributed to the one new process when pids are of another namespace", () => {
    const hostPids = run(
      [[7, 20, 0]],
      [
        [9050, 480, 0],
        [7, 20, 0],
      ],
      [
        [9050, 680, 0],
        [7, 20, 0],
      ],
    );
    const { devices, tables } = recorded([...torch, ...hostPids], withTorch);
    expect(devices[0]).toMatchObject({
      attribution: "single-new-pid",
      job_peak_bytes: 680 * MIB,
      others_peak_bytes: 20 * MIB,
    });
    expect(devices[0]?.attribution_reason).toContain("another pid namespace");
    expect(tables.find(({ columns }) => columns.job)?.columns.job).toEqual(Float64Array.of(0, 480 * MIB, 680 * MIB));
    // Without a probe this needs a gate that is itself in such a namespace.
    expect(devicesOf(hostPids, deviceRun([0], [], { namespaced: true }))[0]?.attribution).toBe("single-new-pid");
    expect(devicesOf(hostPids, withoutProbe)[0]).toMatchObject({
      attribution: "none",
      attribution_reason: "no process of the job was seen on the device",
      others_peak_bytes: 700 * MIB,
    });
  });

  it("a job's memory is the increase of the device's used memory when no size of a process is known", () => {
    const records = [...torch, reading(0, 0, 10), reading(1000, 0, 500), reading(3000, 0, 700)];
    expect(devicesOf(records, withTorch)[0]).toMatchObject({
      attribution: "device-delta",
      attribution_reason: "no list of processes could be read",
      job_peak_bytes: 690 * MIB,
      process_lists: 0,
    });
    // The driver of a virtual machine lists processes without sizes; older ones in containers say 0.
    for (const size of [null, 0]) {
      const { devices, tables } = recorded([...torch, ...run([], [[50, size, 1]])], withTorch);
      expect(devices[0]).toMatchObject({ attribution: "device-delta", job_peak_bytes: 690 * MIB });
      expect(devices[0]?.attribution_reason).toContain("does not report how much");
      expect(tables.some(({ columns }) => columns.job !== undefined)).toBe(false);
    }
  });

  it.each<[string, readonly RecordInput[], string]>([
    ["nothing was read before the command began", [reading(1000, 0, 500)], "no sample was read before"],
    ["its used memory cannot be read", [reading(0, 0, null)], "cannot be read"],
    [
      "several others appeared",
      run(
        [],
        [
          [801, 200, 0],
          [802, 200, 0],
        ],
      ),
      "2 others appeared",
    ],
    ["the others that were there moved", run([[7, 100, 0]], [[7, 1124, 0]]), "changed by 1.00 GiB"],
    [
      "the driver reports no sizes of processes",
      run(
        [[7, null, 0]],
        [
          [50, null, 1],
          [7, null, 0],
        ],
      ),
      "does not report how much memory the job's processes use, nor how much others on it use",
    ],
  ])("the attribution of a device's memory is not known where %s", (_what, records, reason) => {
    const [device] = devicesOf([...torch, ...records], withTorch);
    expect(device).toMatchObject({ attribution: "none", job_peak_bytes: null });
    expect(device?.attribution_reason).toContain(reason);
  });

  it("the attribution of an unfinished run is undecided until its records are read", () => {
    const unfinished = { ...withTorch, complete: false };
    expect(unfinished.devices?.[0]).toMatchObject({ attribution: "none", baseline_used_bytes: null });
    const { tables } = recordFileToRecording(fileOf([...torch, ...run([], [[50, 480, 1]])]), unfinished);
    expect(tables.find(({ columns }) => columns.job)?.columns.job?.[1]).toBe(480 * MIB);
  });
});

describe("a process without a size", () => {
  it("makes only its rank's sum unknown", () => {
    const processes = [0, 1].map((rank) => probeProcess({ pid: 50 + rank, rank, role: "rank", world_size: 2 }));
    const { tables } = recorded(
      [
        reading(0, 0, 10),
        ...list(1, 0, [
          [50, 100, 1],
          [51, 200, 1],
        ]),
        ...list(2000, 0, [
          [50, null, 1],
          [51, 220, 1],
        ]),
      ],
      deviceRun([0], processes),
    );
    const job = new Map(tables.flatMap(({ rank, columns }) => (columns.job ? [[rank, [...columns.job]]] : [])));
    expect(job.get(0)).toEqual([100 * MIB, Number.NaN]);
    expect(job.get(1)).toEqual([200 * MIB, 220 * MIB]);
  });
});

describe("ranks and devices", () => {
  const started = (pid: number, parent: number): RecordInput => ({
    timeNs: 0,
    kind: RecordKind.processStart,
    id: pid,
    values: [parent, 1],
  });

  it("a worker's memory belongs to its rank, whose own device another rank may share", () => {
    const processes = [
      probeProcess({ pid: 60, rank: 0, role: "rank", world_size: 2, devices: [cudaDevice(0, 3)] }),
      probeProcess({ pid: 61, rank: 1, role: "rank", world_size: 2, devices: [cudaDevice(0, 3)] }),
    ];
    const records = [
      ...[0, 1].map((rank) => cudaStream({ id: rank, pid: 60 + rank, rank, worldSize: 2, role: ProcessRole.rank })),
      held(500, 0, 100, 200),
      held(500, 1, 300, 400),
      started(70, 61),
      started(71, 70),
      ...[0, 1000].map((ms) => reading(ms, 3, 10 + ms)),
      ...list(1000, 3, [
        [60, 300, 1],
        [61, 500, 1],
        [71, 50, 1],
      ]),
    ];
    const { tables, devices } = recorded(records, deviceRun([2, 3], processes));
    const job = tables.flatMap(({ rank, device, columns }) => (columns.job ? [[rank, device, columns.job[0]]] : []));
    expect(job).toEqual([
      [0, "cuda:0", 300 * MIB],
      [1, "cuda:0", 550 * MIB],
    ]);
    // The device's own memory is a series of the rank that uses it most.
    expect(tables.find(({ columns }) => columns.used)).toMatchObject({ rank: 1, device: "cuda:0" });
    expect(devices.map(({ index, rank, name }) => [index, rank, name])).toEqual([
      [2, 0, "cuda:2"],
      [3, 1, "cuda:0"],
    ]);
  });

  it("a device of a rank whose process reports no devices is found by the driver's list", () => {
    const processes = [0, 1].map((rank) => probeProcess({ pid: 60 + rank, rank, role: "rank", world_size: 2 }));
    const { devices } = recorded(
      [reading(0, 0, 1), reading(0, 1, 1), ...list(900, 0, [[60, 100, 1]]), ...list(900, 1, [[61, 100, 1]])],
      deviceRun([0, 1], processes),
    );
    expect(devices.map(({ rank, name, attribution }) => [rank, name, attribution])).toEqual([
      [0, "cuda:0", "pid"],
      [1, "cuda:1", "pid"],
    ]);
  });

  it("a device with only a process list has a series of the job's memory only", () => {
    const { tables } = recorded(list(5, 4096, [[60, 100, 1]], RecordSource.fdinfo), deviceRun([]));
    expect(tables).toMatchObject([{ device: "drm:0", columns: { job: Float64Array.of(100 * MIB) } }]);
  });
});

describe("the driver's own marks", () => {
  const alone = run([], [[50, 480, 1]], [[50, 680, 1]]);

  it("the driver's mark is an exact peak for one process alone on the device, read after its end", () => {
    const { devices, peaks } = recorded([...torch, ...alone, mark(0, 50, 690, 1)], withTorch);
    expect(devices[0]).toMatchObject({ job_peak_bytes: 690 * MIB, job_peak_kind: "exact" });
    expect(peaks.find(({ metric }) => metric === "used")).toEqual({
      rank: 0,
      device: "cuda:0",
      metric: "used",
      bytes: 700 * MIB,
      kind: "exact",
      source: "NVML accounting",
    });
  });

  it.each<[string, readonly RecordInput[], number]>([
    ["another was there, too", [...run([[7, 5, 0]], [[50, 480, 1]]), mark(0, 50, 690, 1)], 690],
    ["the process still ran", [...alone, mark(0, 50, 690, 0)], 690],
    ["several have one", [...alone, mark(0, 50, 690, 1), mark(0, 51, 300, 1)], 690],
    ["its mark is 0", [...alone, mark(0, 50, 0, 1)], 680],
    ["a higher sample exists", [...alone, mark(0, 50, 600, 1)], 680],
  ])("the driver's mark is not the peak of the device when %s", (what, records, mib) => {
    const { devices, peaks } = recorded([...torch, ...records], withTorch);
    expect(devices[0]?.job_peak_bytes).toBe(mib * MIB);
    if (what === "a higher sample exists") return;
    expect(peaks.filter(({ metric }) => metric === "used")).toEqual([]);
  });
});

describe("damaged records of devices", () => {
  const entry = (changes: Partial<RecordInput>): RecordInput => ({ ...list(5, 0, [[50, 1, 1]])[0]!, ...changes });

  it("damaged device records are skipped and counted", () => {
    const file = fileOf([
      entry({ id: 0 }),
      entry({ id: -7 }),
      entry({ values: [5, null, 1] }),
      entry({ values: [5, 2 ** 40, 1] }),
      { ...list(5, 0, [])[0]!, id: -1 },
      { ...mark(0, 50, 4, 1), id: 0 },
      { timeNs: 5, kind: RecordKind.deviceEvent, id: 0, values: [null] },
    ]);
    expect(file).toMatchObject({ skippedRecords: 7, lists: [], processPeaks: [], deviceEvents: [] });
  });

  it("include a list without an end, unless the file ends there", () => {
    const cut = fileOf([...list(1, 0, [[50, 100, 1]]), entry({ timeNs: 2e6 })]);
    expect(cut).toMatchObject({ skippedRecords: 0 });
    expect([...cut.lists[0]!.bytes]).toEqual([100 * MIB]);
    const broken = fileOf([entry({ timeNs: 2e6 }), ...list(3, 0, [[50, 100, 1]]), ...list(2, 0, [])]);
    expect(broken.skippedRecords).toBe(2);
    expect([...broken.lists[0]!.timeNs]).toEqual([3 * MS]);
  });

  it("include a list with missing entries", () => {
    const short = fileOf([
      ...list(1, 0, [[50, 100, 1]]),
      ...list(2, 0, [
        [50, 100, 1],
        [51, 100, 1],
      ]).slice(1),
    ]);
    expect(short.skippedRecords).toBe(1);
    expect([...short.lists[0]!.timeNs]).toEqual([1 * MS]);
  });

  it("records of too many devices are skipped and counted", () => {
    const many = Array.from({ length: 700 }, (_, id) => reading(1, id, 5));
    expect(fileOf(many)).toMatchObject({ skippedRecords: 188 });
    expect(fileOf(many).devices).toHaveLength(512);
  });
});

describe("64 processes on 8 devices", () => {
  const info = deviceRun(
    [0, 1, 2, 3, 4, 5, 6, 7],
    Array.from({ length: 64 }, (_, i) =>
      probeProcess({ pid: 100 + i, rank: i, role: "rank", world_size: 64, devices: [cudaDevice(0, i >> 3)] }),
    ),
  );
  const listsOf = (seconds: number): Buffer =>
    recordBytes(
      Array.from({ length: seconds }, (_, s) =>
        Array.from({ length: 8 }, (_device, index) => [
          reading(s * 1000, index, 8000),
          ...list(
            s * 1000,
            index,
            Array.from({ length: 8 }, (_p, i): Listed => [100 + index * 8 + i, 900 + s, 1]),
          ),
        ]).flat(),
      ).flat(),
    );

  function read(bytes: Buffer) {
    const file = parseRecordFile(bytes, "a.rec");
    const devices = finishedDevices(file, info, { beganNs: 0, marks: [] });
    return { devices, ...recordFileToRecording(file, { ...info, devices }) };
  }

  it("the memory of 64 processes on 8 devices is attributed by pid", () => {
    const { devices, tables } = read(listsOf(2));
    expect(tables.filter(({ columns }) => columns.job)).toHaveLength(64);
    expect(devices.every(({ attribution }) => attribution === "pid")).toBe(true);
    expect(devices[0]?.total_bytes).toBe(80 * GIB);
  });

  it("process lists of 8 devices are read in time proportional to their number", () => {
    const lists = new Map([60, 480].map((seconds) => [seconds, listsOf(seconds)]));
    expect(costRatio((seconds) => read(lists.get(seconds)!), 60, 480)).toBeLessThan(MAX_LINEAR_RATIO);
  });
});
