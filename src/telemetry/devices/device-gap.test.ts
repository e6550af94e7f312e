import { describe, expect, it } from "vitest";
import { parseRecordFile } from "../reading/record-file.ts";
import {
  cudaDevice,
  cudaStream,
  deviceRun,
  held,
  type Listed,
  list,
  MIB,
  MS,
  probeProcess,
  reading,
} from "../testing/device-records.ts";
import { type RecordInput, recordBytes } from "../testing/record-bytes.ts";
import { type GapMarks, reservedAt } from "./device-gap.ts";
import { finishedDevices } from "./recorded-devices.ts";

const PID = 50;
const info = deviceRun([0], [probeProcess({ pid: PID, devices: [cudaDevice(0, 0)] })]);
const fileOf = (records: readonly RecordInput[]) => parseRecordFile(recordBytes(records), "a.rec");
const marks = (changes: Partial<GapMarks> = {}): GapMarks => ({
  pid: PID,
  contextNs: 1000 * MS,
  groupNs: null,
  wrapNs: null,
  firstStepNs: null,
  ...changes,
});
const sharesOf = (records: readonly RecordInput[], of: readonly GapMarks[] = [marks()]) =>
  finishedDevices(fileOf(records), info, { beganNs: 5 * MS, marks: of })[0]?.gap;

/**
 * A run with a context of 400 MiB at 1.0 s, libraries of 150 MiB by 1.6 s, communicators of 250 MiB between 2.0 s and
 * 2.3 s, libraries of 50 MiB with the first forward pass, steps from 3 s on, and then `grows` MiB a second.
 */
function gapRun(grows = 0, { allocatorMs = 23, deviceMs = 20 } = {}): RecordInput[] {
  const gapAt = (ms: number): number =>
    (ms >= 1000 ? 400 : 0) +
    (ms >= 1600 ? 150 : 0) +
    (ms >= 2250 ? 250 : 0) +
    (ms >= 2600 ? 50 : 0) +
    (ms > 4000 ? ((ms - 4000) / 1000) * grows : 0);
  const reserved = (ms: number): number => (ms < 1005 ? 0 : 200 + 20 * Math.floor((ms / 500) % 7));
  const rows: RecordInput[] = [cudaStream({ pid: PID })];
  for (let ms = 900; ms < 9000; ms += allocatorMs) {
    const step = ms < 3000 ? null : Math.floor((ms - 3000) / 100);
    rows.push(held(ms, 0, ms < 1005 ? 0 : 100, reserved(ms), step));
  }
  for (let ms = 0; ms < 9000; ms += deviceMs) {
    rows.push(reading(ms, 0, Math.round(12 + gapAt(ms) + reserved(ms))));
  }
  return rows;
}

describe("the components of memory outside the allocator", () => {
  it("come from the times that its process recorded: context, libraries, communicators, and later growth", () => {
    const of = [marks({ wrapNs: [2000 * MS, 2300 * MS], firstStepNs: 3100 * MS })];
    expect(sharesOf(gapRun(30), of)).toEqual({
      level: "device",
      peak_bytes: (850 + 149) * MIB,
      context_bytes: 400 * MIB,
      library_bytes: 200 * MIB,
      communicator_bytes: 250 * MIB,
      later_bytes: 149 * MIB,
    });
  });

  it("attribute everything from the first group on to communicators without a recorded module", () => {
    expect(sharesOf(gapRun(), [marks({ groupNs: 2000 * MS, firstStepNs: 3100 * MS })])).toMatchObject({
      context_bytes: 400 * MIB,
      library_bytes: 150 * MIB,
      communicator_bytes: 300 * MIB,
      later_bytes: 0,
    });
  });

  it("growth after a process group that is older than the context is not divided", () => {
    expect(sharesOf(gapRun(), [marks({ groupNs: 500 * MS })])).toMatchObject({
      context_bytes: 400 * MIB,
      library_bytes: null,
      communicator_bytes: null,
      later_bytes: 0,
    });
  });

  it("the components are context and libraries without communicators, and have no later growth without steps", () => {
    expect(sharesOf(gapRun())).toMatchObject({
      context_bytes: 400 * MIB,
      library_bytes: 450 * MIB,
      communicator_bytes: null,
    });
    const stepless = gapRun().map((record) =>
      record.values?.[3] == null ? record : { ...record, values: [...record.values.slice(0, 3), null] },
    );
    const device = stepless.filter(({ kind }) => kind === 4);
    const rest = stepless.filter(({ kind }) => kind !== 4);
    expect(sharesOf([...rest, ...device])).toMatchObject({
      context_bytes: 400 * MIB,
      library_bytes: null,
      later_bytes: null,
    });
  });

  it("use the driver's account of the processes when other processes changed the device's memory", () => {
    const lists = [0, 250, 1100, 1700, 2400, 2900, 4100, 6100, 8100].flatMap((ms) => {
      const gap = ms < 1000 ? 0 : ms < 1600 ? 400 : ms < 2250 ? 550 : ms < 2600 ? 800 : 850;
      const reserved = ms < 1005 ? 0 : 200 + 20 * Math.floor((ms / 500) % 7);
      const own: Listed[] = ms < 1000 ? [] : [[PID, gap + reserved, 1]];
      return list(ms, 0, [...own, [7, ms, 0]]);
    });
    expect(sharesOf([...gapRun(), ...lists], [marks({ wrapNs: [2000 * MS, 2300 * MS] })])).toEqual({
      level: "process",
      peak_bytes: 850 * MIB,
      context_bytes: 400 * MIB,
      library_bytes: 200 * MIB,
      communicator_bytes: 250 * MIB,
      later_bytes: 0,
    });
  });

  it("the components are unknown without the allocator's samples, and while others' memory changed", () => {
    expect(sharesOf(gapRun().filter(({ kind }) => kind === 4))).toBeNull();
    const tenants = [0, 4000, 8000].flatMap((ms, i) => list(ms, 0, [[7, 100 + i * 900, 0]]));
    expect(sharesOf([...gapRun(), ...tenants])).toBeNull();
  });
});

describe("the sum of the allocators on a device", () => {
  it("adds its processes, each from its first sample to its end, and is unknown where one changed or was not read", () => {
    const { streams, processes } = fileOf([
      cudaStream({ id: 0, pid: 1 }),
      cudaStream({ id: 1, pid: 2 }),
      held(0, 0, 1, 10),
      held(1000, 0, 1, 20),
      held(1500, 1, 1, 100),
      held(1700, 1, 1, 100),
      held(2900, 0, 1, 20),
      { timeNs: 2000 * MS, kind: 7, id: 2 },
    ]);
    const at = Float64Array.of(0, 500 * MS, 1600 * MS, 2600 * MS, 3500 * MS);
    expect([...reservedAt(streams, processes, at)]).toEqual([10 * MIB, Number.NaN, 120 * MIB, 20 * MIB, Number.NaN]);
  });
});
