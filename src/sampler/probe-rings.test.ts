import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { findPrebuild } from "./prebuild.ts";
import { parseRingName, parseStepText } from "./probe-rings.ts";
import { HEADER_BYTES, ProbeTrouble, RECORD_BYTES, RecordKind, RecordSource } from "./record-layout.ts";
import { startSampler } from "./start.ts";
import { RingFile } from "./testing/ring-file.ts";

const kinds = "reason" in findPrebuild() ? ["fallback"] : ["native", "fallback"];

let directory: string;
let probes: string;
beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
  probes = path.join(directory, "probe");
  mkdirSync(probes);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true });
});

interface Written {
  readonly timeNs: number;
  readonly kind: number;
  readonly valid: number;
  readonly source: number;
  readonly id: number;
  readonly values: readonly number[];
}

function recordsOf(file: string): Written[] {
  const bytes = readFileSync(file);
  const records: Written[] = [];
  for (let at = HEADER_BYTES; at + RECORD_BYTES <= bytes.length; at += RECORD_BYTES) {
    records.push({
      timeNs: Number(bytes.readBigUInt64LE(at)),
      kind: bytes.readUInt8(at + 8),
      valid: bytes.readUInt8(at + 9),
      source: bytes.readUInt16LE(at + 10),
      id: bytes.readInt32LE(at + 12),
      values: [16, 24, 32, 40].map((offset) => Number(bytes.readBigUInt64LE(at + offset))),
    });
  }
  return records.filter(({ source }) => source === RecordSource.probe);
}

/** Samples this process while `act` plays the probes, and gives what of it came from probes. */
async function sampled(act: () => Promise<void> | void, rootPid = process.pid, includeRoot = true): Promise<Written[]> {
  const file = path.join(directory, "samples.rec");
  const sampler = await startSampler({
    file,
    rootPid,
    includeRoot,
    hostPeriodNs: 10_000_000,
    devicePeriodNs: 100_000_000,
    cpuBudget: null,
    marker: null,
    probeDirectory: probes,
  });
  try {
    await act();
  } finally {
    sampler.stop();
  }
  return recordsOf(file);
}

const ofKind = (records: readonly Written[], kind: number): Written[] => records.filter((one) => one.kind === kind);
const reported = (records: readonly Written[], code: number): number =>
  Math.max(0, ...ofKind(records, RecordKind.error).flatMap(({ values }) => (values[1] === code ? [values[2]!] : [])));

describe.each(kinds)("rings read by the %s sampler", (kind) => {
  beforeEach(() => void vi.stubEnv("STORMLOG_GATE_SAMPLER", kind));

  it("are read completely, across the end of the ring, with the stream before its first sample", async () => {
    const ring = new RingFile(path.join(probes, "4242.0.probe"), { capacity: 16, rank: 3, worldSize: 4, role: 1 });
    const records = await sampled(async () => {
      for (let i = 0; i < 60; i++) {
        ring.add({ reason: 2, values: [i * 1000, i * 1000 + 7, null, null, null, null, null, i] });
        if (i % 10 === 9) await sleep(120);
      }
    });
    const samples = ofKind(records, RecordKind.allocator);
    expect(samples.map(({ values }) => values[0])).toEqual(Array.from({ length: 60 }, (_, i) => i * 1000));
    expect(samples.map(({ values }) => values[3])).toEqual(Array.from({ length: 60 }, (_, i) => i));
    expect(new Set(samples.map(({ valid }) => valid))).toEqual(new Set([0b1011 | (2 << 4)]));
    expect(records[0]).toMatchObject({
      kind: RecordKind.stream,
      id: samples[0]!.id,
      values: [4242, 1, 0, 4 + 5 * 2 ** 16 + 2 ** 32],
    });
    expect(samples.every(({ timeNs }, i) => i === 0 || timeNs >= samples[i - 1]!.timeNs)).toBe(true);
    expect(reported(records, ProbeTrouble.recordsLost)).toBe(0);
  });

  it("are read once more at the stop, and lost records are counted to the last", async () => {
    const ring = new RingFile(path.join(probes, "7.0.probe"), { capacity: 16, pid: 7 });
    const records = await sampled(() => {
      for (let i = 0; i < 100; i++) ring.add({ values: [i] });
    });
    // On a busy machine the sampler may also read the ring while it is filled.
    const read = ofKind(records, RecordKind.allocator).map(({ values }) => values[0]);
    expect(read.slice(-15)).toEqual(Array.from({ length: 15 }, (_, i) => 85 + i));
    expect(read.length + reported(records, ProbeTrouble.recordsLost)).toBe(100);
  });

  it("give peaks when they change, per device", async () => {
    const ring = new RingFile(path.join(probes, "7.0.probe"), { pid: 7 });
    const records = await sampled(() => {
      for (let i = 0; i < 6; i++) {
        ring.add({ kind: 2, index: i % 2, values: [100, 200, 90, i < 4 ? 500 : 900, 600, 0, 0, null] });
      }
      ring.end();
    });
    const peaks = ofKind(records, RecordKind.allocatorPeaks);
    expect(peaks.map(({ values }) => values[0])).toEqual([500, 500, 900, 900]);
    expect(ofKind(records, RecordKind.stream).map(({ values }) => values[2])).toEqual([0, 1]);
    expect(ofKind(records, RecordKind.allocator)).toHaveLength(6);
  });

  it("give steps from the header and from the step file, in any spelling", async () => {
    const ring = new RingFile(path.join(probes, "7.0.probe"), { pid: 7 });
    const step = path.join(probes, "step");
    const records = await sampled(async () => {
      ring.step(5);
      await sleep(250);
      writeFileSync(step, "17\n");
      await sleep(250);
      writeFileSync(step, "eighteen");
      await sleep(120);
      writeFileSync(`${step}.new`, " 19 ");
      renameSync(`${step}.new`, step);
      await sleep(250);
    });
    expect(ofKind(records, RecordKind.step).map(({ id, values }) => [id, values[0]])).toEqual([
      [7, 5],
      [-1, 17],
      [-1, 19],
    ]);
    expect(reported(records, ProbeTrouble.stepUnreadable)).toBeGreaterThan(0);
  });

  it("that are cut, rewritten, linked or invalid are reported, and the others are still read", async () => {
    const cut = path.join(probes, "1.0.probe");
    const [first, second, good] = [
      new RingFile(cut, { pid: 1 }),
      new RingFile(path.join(probes, "2.0.probe"), { pid: 2 }),
      new RingFile(path.join(probes, "3.0.probe"), { pid: 3 }),
    ];
    symlinkSync(cut, path.join(probes, "4.0.probe"));
    mkdirSync(path.join(probes, "5.0.probe"));
    writeFileSync(path.join(probes, "6.0.probe.txt"), "nothing of ours");
    const records = await sampled(async () => {
      for (const ring of [first, second, good]) for (let i = 0; i < 10; i++) ring.add({ values: [1] });
      await sleep(150);
      truncateSync(cut, 100);
      second.u64(24, 3n);
      good.add({ monotonicNs: 5n, values: [1] });
      good.add({ kind: 99, values: [1] });
      good.add({ values: [2] });
      await sleep(150);
    });
    expect(ofKind(records, RecordKind.allocator)).toHaveLength(31);
    for (const code of ["notARing", "ringTruncated"] as const) expect(reported(records, ProbeTrouble[code])).toBe(1);
    expect(reported(records, ProbeTrouble.recordImpossible)).toBe(2);
    expect(reported(records, ProbeTrouble.fileUnreadable)).toBeGreaterThan(0);
  });

  it("of the launcher are not the job's", async () => {
    const ring = new RingFile(path.join(probes, `${process.pid}.0.probe`), { pid: process.pid });
    ring.add({ values: [1] });
    expect(await sampled(() => sleep(120), process.pid, false)).toEqual([]);
  });

  it("have their own source, which reports a missing directory", async () => {
    rmSync(probes, { recursive: true });
    const sampler = await startSampler({
      file: path.join(directory, "samples.rec"),
      rootPid: process.pid,
      includeRoot: true,
      hostPeriodNs: 10_000_000,
      devicePeriodNs: 100_000_000,
      cpuBudget: null,
      marker: null,
      probeDirectory: probes,
    });
    sampler.stop();
    expect(sampler.sources.find(({ name }) => name === "probe")).toMatchObject({
      available: false,
      reason: "the directory of the probes cannot be opened",
    });
  });
});

describe("names of rings", () => {
  it("are a pid and a number, each in its one spelling", () => {
    expect(parseRingName("4242.0.probe")).toEqual({ pid: 4242, instance: 0 });
    expect(parseRingName("1.12.probe")).toEqual({ pid: 1, instance: 12 });
    for (const name of [
      "0.0.probe",
      "01.0.probe",
      "1.00.probe",
      "1.probe",
      "x.0.probe",
      "1.0.probe.part",
      "1.0.info",
    ]) {
      expect(parseRingName(name)).toBeNull();
    }
    expect(parseRingName("99999999999.0.probe")).toBeNull();
  });
});

describe("the text of a step file", () => {
  it("is a whole number, or nothing while it is being written, or wrong", () => {
    expect(parseStepText("17\n")).toBe(17);
    expect(parseStepText(" 9007199254740991 ")).toBe(Number.MAX_SAFE_INTEGER);
    expect(parseStepText("")).toBeUndefined();
    for (const text of ["x", "1 2", "-1", "1e3", "9007199254740992"]) expect(parseStepText(text)).toBeNull();
  });
});
