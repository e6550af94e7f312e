import { describe, expect, it } from "vitest";
import { DeviceEvent } from "../../sampler/record-layout.ts";
import { finishedDevices } from "../../telemetry/devices/recorded-devices.ts";
import { parseRecordFile } from "../../telemetry/reading/record-file.ts";
import { recordFileToRecording } from "../../telemetry/reading/record-recording.ts";
import type { Recording, RecordingInfo } from "../../telemetry/recording/model.ts";
import {
  cudaDevice,
  cudaStream,
  deviceRun,
  failed,
  happened,
  held,
  type Listed,
  list,
  MIB,
  MS,
  ProcessRole,
  probeProcess,
  reading,
} from "../../telemetry/testing/device-records.ts";
import { type RecordInput, recordBytes } from "../../telemetry/testing/record-bytes.ts";
import { analyze } from "../analyze.ts";
import { measuredRun } from "../measured-run.ts";
import { deviceEvidence } from "./device-evidence.ts";
import { gapSamples } from "./gap-source.ts";

const PID = 50;
const oneRank = deviceRun([0], [probeProcess({ pid: PID, devices: [cudaDevice(0, 0)] })]);

function recorded(records: readonly RecordInput[], info: RecordingInfo = oneRank): Recording {
  const file = parseRecordFile(recordBytes(records), "a.rec");
  const marks = [{ pid: PID, contextNs: 400 * MS, groupNs: null, wrapNs: null, firstStepNs: null }];
  const devices = finishedDevices(file, info, { beganNs: 5 * MS, marks });
  return recordFileToRecording(file, { ...info, devices });
}

const found = (recording: Recording, classification: string) =>
  analyze(recording).findings.filter((finding) => finding.classification === classification);

interface DeviceCase {
  readonly seconds?: number;
  /** MiB outside the allocator, beyond 500, at a time. */
  readonly gap?: (ms: number) => number;
  readonly reserved?: (ms: number) => number;
  readonly allocatorMs?: number;
}

/**
 * One process on one device: driver every 20 ms, allocator every 23 ms by default, ten steps a second from 1 s on.
 */
function deviceCase({
  seconds = 30,
  gap = () => 0,
  reserved = () => 2000,
  allocatorMs = 23,
}: DeviceCase = {}): RecordInput[] {
  const rows: RecordInput[] = [cudaStream({ pid: PID })];
  for (let ms = 500; ms < seconds * 1000; ms += allocatorMs) {
    const step = ms < 1000 ? null : Math.floor((ms - 1000) / 100);
    rows.push(held(ms, 0, 1500, reserved(ms), step));
  }
  for (let ms = 0; ms < seconds * 1000; ms += 20) {
    rows.push(reading(ms, 0, 12 + (ms < 500 ? 0 : Math.round(500 + gap(ms)) + reserved(ms))));
  }
  return rows;
}

describe("memory of the device as its driver counts it", () => {
  it("grows by what the steps add, not by what the program took before them", () => {
    const rows: RecordInput[] = [cudaStream({ pid: PID })];
    const taken = (ms: number) =>
      Math.min(2000, 400 * Math.floor(ms / 1600)) + Math.max(0, Math.floor((ms - 9000) / 10));
    for (let ms = 500; ms < 13_000; ms += 23) {
      rows.push(held(ms, 0, taken(ms), taken(ms), ms < 9000 ? null : Math.floor((ms - 9000) / 20)));
    }
    for (let ms = 0; ms < 13_000; ms += 20) rows.push(reading(ms, 0, 512 + taken(ms)));
    const { series } = analyze(recorded(rows));
    const [used, reserved] = ["used", "reserved"].map((name) => series.find(({ metric }) => metric === name)!);
    expect([used?.class, reserved?.class]).toEqual(["leak", "leak"]);
    expect(used!.growth_bytes! / reserved!.growth_bytes!).toBeCloseTo(1, 1);
    expect(used!.slope_bytes_per_step! / (2 * MIB)).toBeCloseTo(1, 1);
    expect(used?.peak_bytes).toBeGreaterThan(2900 * MIB);
  });
});

describe("memory outside the allocator", () => {
  it("memory outside the allocator that grows with every step is critical and described with its earlier shares", () => {
    const [finding, ...more] = found(recorded(deviceCase({ gap: (ms) => ms / 50 })), "hidden_gap");
    expect(more).toEqual([]);
    expect(finding).toMatchObject({
      severity: "critical",
      rank: 0,
      device: "cuda:0",
      evidence: { gap_level: "device", context_bytes: 510 * MIB, communicator_bytes: null },
    });
    expect(finding?.evidence.later_bytes).toBeGreaterThan(500 * MIB);
    expect(finding?.description).toContain("Before that: 510.00 MiB the context");
  });

  it("memory outside the allocator that steps up after warm-up is a warning, unless it is small or falls back", () => {
    const step = (mib: number, untilMs: number) => (ms: number) => (ms > 15_000 && ms < untilMs ? mib : 0);
    const warned = found(recorded(deviceCase({ gap: step(2000, 1e9) })), "hidden_gap");
    expect(warned).toMatchObject([{ severity: "warning", evidence: { later_bytes: 2000 * MIB } }]);
    expect(warned[0]?.description).toContain("grew by 1.95 GiB after warm-up and stayed");
    expect(found(recorded(deviceCase({ gap: step(2000, 18_000) })), "hidden_gap")).toEqual([]);
    expect(found(recorded(deviceCase({ gap: step(500, 1e9) })), "hidden_gap")).toEqual([]);
  });

  it("excludes the allocator's own steps, although driver and allocator are read at different times", () => {
    const reserved = (ms: number) => 2000 + 9000 * (Math.floor(ms / 1370) % 2);
    const run = recorded(deviceCase({ reserved, allocatorMs: 61 }));
    const classifications = analyze(run).findings.map(({ classification }) => classification);
    expect(classifications).not.toContain("hidden_gap");
    expect(classifications).not.toContain("transient_spike");
    expect(classifications).not.toContain("persistent_drift");
    const [samples] = gapSamples(run, deviceEvidence(run));
    const gaps = Array.from(samples!.used, (used, i) => used - samples!.reserved[i]!);
    expect(new Set(gaps)).toEqual(new Set([512 * MIB]));
    expect(samples!.timeNs.length).toBeGreaterThan(1000);
    expect(run.info?.devices?.[0]?.gap).toMatchObject({ peak_bytes: 500 * MIB, later_bytes: 0 });
  });

  it("the gap of two ranks on one device excludes both allocators and is split by the driver's account", () => {
    const info = deviceRun(
      [0],
      [0, 1].map((rank) =>
        probeProcess({ pid: PID + rank, rank, role: "rank", world_size: 2, devices: [cudaDevice(0, 0)] }),
      ),
    );
    // Rank 1's allocator grows, which is not a gap. Its context leaks from second 10 on.
    const rows: RecordInput[] = [0, 1].map((rank) =>
      cudaStream({ id: rank, pid: PID + rank, rank, worldSize: 2, role: ProcessRole.rank }),
    );
    const own = (rank: number, s: number) => 1000 + (rank === 1 ? 30 * s : 0);
    const outside = (rank: number, s: number) => 400 + (rank === 1 ? 20 * s : 0);
    for (let s = 1; s < 60; s++) {
      for (let i = 0; i < 4; i++) {
        for (const rank of [0, 1]) rows.push(held(s * 1000 + i * 250 + rank, rank, 900, own(rank, s), s * 4 + i));
      }
      const used = own(0, s) + own(1, s) + outside(0, s) + outside(1, s);
      rows.push(reading(s * 1000 + 100, 0, 12 + used));
      rows.push(
        ...list(
          s * 1000 + 100,
          0,
          [0, 1].map((rank): Listed => [PID + rank, own(rank, s) + outside(rank, s), 1]),
        ),
      );
    }
    const leaks = found(recorded([reading(0, 0, 12), ...list(0, 0, []), ...rows], info), "hidden_gap");
    expect(leaks.map(({ rank, device, severity }) => [rank, device, severity])).toEqual([[1, "cuda:0", "critical"]]);
  });
});

describe("another tenant", () => {
  const tenant = (mib: (s: number) => number, own: (s: number) => Listed[]): RecordInput[] =>
    Array.from({ length: 30 }, (_, s) => list(s * 1000, 0, [[7, mib(s), 0], ...own(s)])).flat();
  const mine = (s: number): Listed[] => (s === 0 ? [] : [[PID, 2500, 1]]);
  const moving = (s: number) => 300 + s * 100;

  it("another tenant is reported with the series it affected, which is not evidence", () => {
    const document = analyze(recorded([...deviceCase({ gap: (ms) => ms / 10 }), ...tenant(moving, mine)]));
    const [finding] = document.findings.filter(({ classification }) => classification === "other_tenant");
    expect(finding).toMatchObject({
      severity: "warning",
      rank: 0,
      device: "cuda:0",
      metric: "used",
      evidence: { moved_bytes: 2900 * MIB, others_first_bytes: 300 * MIB, attribution: "pid", used_is_evidence: false },
    });
    expect(finding?.description).toContain("the memory that it reports for them is still judged");
    const growing = ["leak", "rising", "hidden_gap", "persistent_drift", "transient_spike"];
    expect(document.findings.filter(({ classification }) => growing.includes(classification))).toEqual([]);
    const { series } = measuredRun(document, { session: "s", commit: null });
    expect(series.find(({ metric }) => metric === "used")).toMatchObject({
      peak_bytes: null,
      growth_bytes: null,
      class: "unavailable",
    });
    expect(series.find(({ metric }) => metric === "reserved")?.peak_bytes).toBe(2000 * MIB);
  });

  it("another tenant that does not change is not reported", () => {
    const document = analyze(recorded([...deviceCase(), ...tenant((s) => 300 + (s % 2) * 60, mine)]));
    expect(document.findings.filter(({ classification }) => classification === "other_tenant")).toEqual([]);
    const { series } = measuredRun(document, { session: "s", commit: null });
    expect(series.find(({ metric }) => metric === "used")?.peak_bytes).toBe(2512 * MIB);
  });

  it("leaves no evidence when the driver does not report the job's memory", () => {
    const unsaid = (s: number): Listed[] => (s === 0 ? [] : [[PID, null, 1]]);
    const [finding] = found(recorded([...deviceCase(), ...tenant(moving, unsaid)]), "other_tenant");
    expect(finding).toMatchObject({ severity: "warning", evidence: { attribution: "none" } });
    expect(finding?.description).toContain("used memory is not judged");
  });

  it("another tenant on a device that the job does not use is only an info finding", () => {
    const idle: RecordInput[] = Array.from({ length: 1500 }, (_, i) => reading(i * 20, 1, 300 + i * 2));
    const lists = Array.from({ length: 30 }, (_, s) => list(s * 1000, 1, [[7, 300 + s * 100, 0]])).flat();
    const document = analyze(
      recorded(
        [...deviceCase(), ...list(2000, 0, mine(1)), ...idle, ...lists],
        deviceRun([0, 1], [probeProcess({ pid: PID, devices: [cudaDevice(0, 0)] })]),
      ),
    );
    expect(document.findings.filter(({ device }) => device === "cuda:1")).toMatchObject([
      { classification: "other_tenant", severity: "info" },
    ]);
  });
});

describe("health", () => {
  it.each<[string, RecordInput[], string, string, RegExp]>([
    ["a lost GPU", [failed(4000, 0, 15)], "device_lost", "critical", /no longer reaches it/],
    ["a GPU that needs a reset", [failed(4000, 0, 16)], "device_reset_required", "critical", /needs a reset/],
    [
      "an update under a running driver",
      [failed(4000, -1, 18)],
      "device_driver_mismatch",
      "critical",
      /library was replaced/,
    ],
    ["a container that lost its GPU", [failed(4000, 0, 999)], "device_unreachable", "critical", /container/],
    ["an Xid", [happened(4000, 0, DeviceEvent.xid, 79)], "device_xid", "critical", /Xid 79: the GPU fell off the bus/],
    ["an uncommon Xid", [happened(4000, 0, DeviceEvent.xid, 154)], "device_xid", "warning", /Xid 154\.$/],
    [
      "an error that could not be corrected",
      [happened(4000, 0, DeviceEvent.doubleBitEcc, null)],
      "device_ecc",
      "critical",
      /uncorrectable ECC error/,
    ],
    ["replaced rows", [happened(4000, 0, DeviceEvent.rowRemap, null)], "device_row_remap", "warning", /broken rows/],
    [
      "another size",
      [happened(4000, 0, DeviceEvent.capacityChanged, 40 * 2 ** 30)],
      "device_capacity_changed",
      "warning",
      /40\.00 GiB/,
    ],
    [
      "another number of devices",
      [happened(4000, -1, DeviceEvent.countChanged, 7)],
      "device_count_changed",
      "warning",
      /7 devices/,
    ],
    [
      "a GPU that is gone",
      [happened(4000, 0, DeviceEvent.unavailable, null)],
      "device_unavailable",
      "critical",
      /unavailable/,
    ],
  ])("explains %s", (_what, records, classification, severity, text) => {
    const findings = found(recorded([...deviceCase({ seconds: 5 }), ...records]), classification);
    expect(findings).toMatchObject([{ severity, evidence: { time_s: 4 } }]);
    expect(findings[0]?.description).toMatch(/^4\.0 s after the start: /);
    expect(findings[0]?.description).toMatch(text);
    expect(findings[0]?.remediation.length).toBeGreaterThan(0);
    expect(findings[0]?.device).toBe(records[0]?.id === -1 ? null : "cuda:0");
  });

  it("reports how long a driver did not answer, or that it never recovered", () => {
    const stalled = happened(2000, 0, DeviceEvent.stalled, 1e9);
    const back = found(
      recorded([...deviceCase({ seconds: 8 }), stalled, happened(6000, 0, DeviceEvent.recovered, 5e9)]),
      "device_stalled",
    );
    expect(back[0]?.description).toContain("did not answer for 5.0 s. Samples of that time are missing");
    expect(found(recorded([...deviceCase({ seconds: 8 }), stalled]), "device_stalled")[0]?.description).toContain(
      "had not recovered",
    );
  });

  it("reports that a driver failed temporarily", () => {
    const passing = [failed(2000, 0, 10, 3), happened(2500, 0, DeviceEvent.recovered, 5e8)];
    expect(found(recorded([...deviceCase({ seconds: 4 }), ...passing]), "device_recovered")).toMatchObject([
      {
        severity: "info",
        description:
          "2.5 s after the start: The driver failed for 500 ms and answered again. Samples of that time are missing.",
      },
    ]);
  });

  it("counts repeated events by their number, and leaves other failures to the list of errors", () => {
    const xids = [13, 13, 13, 31].map((code, i) => happened(1000 + i, 0, DeviceEvent.xid, code));
    const document = analyze(
      recorded([...deviceCase({ seconds: 3 }), ...xids, failed(2000, 0, 15, 40), failed(2001, 0, 7, 3)]),
    );
    const health = document.findings.filter(({ classification }) => classification.startsWith("device_"));
    expect(health.map(({ evidence }) => [evidence.code, evidence.count])).toEqual([
      [13, 3],
      [31, 1],
      [15, 40],
    ]);
  });
});

describe("ranks with devices of their own", () => {
  const ranks = (job: (rank: number) => number): Recording => {
    const pids = [0, 1, 2, 3].map((rank) =>
      probeProcess({ pid: 60 + rank, rank, role: "rank", world_size: 4, framework: null }),
    );
    const records = [0, 1, 2, 3].flatMap((rank) => [
      reading(0, rank, 10),
      reading(1000, rank, 10 + job(rank)),
      ...list(1000, rank, [[60 + rank, job(rank), 1]]),
    ]);
    return recorded(records, deviceRun([0, 1, 2, 3], pids));
  };

  it("ranks with devices of their own are compared by the driver's account when no allocator was read", () => {
    expect(
      found(
        ranks((rank) => (rank === 2 ? 60_000 : 40_000)),
        "rank_skew",
      ),
    ).toMatchObject([
      {
        rank: 2,
        device: "cuda:2",
        evidence: { peak_bytes: 60_000 * MIB, skew: 0.5, told_by: "the driver's account of each process" },
      },
    ]);
    expect(
      found(
        ranks(() => 40_000),
        "rank_skew",
      ),
    ).toEqual([]);
  });
});
