import { describe, expect, it } from "vitest";
import { AllocatorKind, ProcessRole, SampleReason } from "../../sampler/record-layout.ts";
import type { DeviceReport } from "../../sampler/sampler.ts";
import { type ProbeInfo, parseProbeInfo } from "../../telemetry/reading/probe-info.ts";
import type { Fingerprint, ProbeProcess } from "../../telemetry/recording/model.ts";
import type { RecordedStream } from "../../telemetry/recording/recorded-streams.ts";
import { completedFingerprint, majorMinor } from "../environment/probe-fingerprint.ts";
import { withDriverIndex } from "./device-owners.ts";
import { probeCaveats, probeSource } from "./probe-info.ts";

const infoOf = (lines: string): ProbeInfo => parseProbeInfo(`pid=5\n${lines}`)!;
const streamOf = (changes: Partial<RecordedStream> = {}): RecordedStream => ({
  id: 0,
  pid: 5,
  kind: AllocatorKind.hostHeap,
  index: 0,
  rank: null,
  worldSize: null,
  role: ProcessRole.plain,
  peaksReset: false,
  timeNs: Float64Array.of(0),
  allocated: Float64Array.of(1),
  reserved: Float64Array.of(1),
  active: Float64Array.of(Number.NaN),
  steps: Float64Array.of(Number.NaN),
  reasons: Uint8Array.of(SampleReason.timer),
  marks: { allocated: Number.NaN, reserved: Number.NaN, retries: Number.NaN, ooms: Number.NaN },
  cut: false,
  ...changes,
});
const driver = (index: number, uuid: string | null): DeviceReport => ({
  index,
  name: `cuda:${index}`,
  model: `NVIDIA H200 ${index}`,
  uuid,
  total_bytes: 150_000_000_000,
  driver: "570",
});
const DRIVERS = [driver(0, "GPU-AAAA-0"), driver(1, "GPU-BBBB-1"), driver(2, "GPU-CCCC-2")];
const NOTHING = { infos: [], streams: [], stepsSeen: false };

describe("the probe among a recording's sources", () => {
  it("probeSource lists what can be read of the processes", () => {
    const infos = [infoOf("framework=torch\nheap=mallinfo2")];
    const marks = { allocated: 9, reserved: 9, retries: 0, ooms: 0 };
    const streams = [streamOf(), streamOf({ kind: AllocatorKind.cuda, marks })];
    expect(probeSource({ infos, streams, stepsSeen: true }, { kind: "python" }, null)).toEqual({
      name: "probe",
      available: true,
      reason: null,
      capabilities: ["torch", "cuda", "heap", "steps", "exact-peaks"],
    });
  });

  it("probeSource has reasons for missing values", () => {
    const source = (lines: string, streams: RecordedStream[]) =>
      probeSource({ infos: [infoOf(lines)], streams, stepsSeen: false }, { kind: "python" }, null);
    expect(source("heap=mallinfo2", [streamOf()])).toMatchObject({
      available: true,
      reason: "no framework was imported, so only the heap is recorded",
    });
    expect(source("framework=torch\nheap=none:malloc is not the C library's", []).reason).toBe(
      "the heap is not recorded: malloc is not the C library's",
    );
    expect(source("framework=torch\nerror=no space left", [streamOf()]).reason).toBe("no space left");
  });

  it.each([
    [{ kind: "isolated", flag: "-I" }, null, /python -I/],
    [{ kind: "python" }, null, /-I, -E or -S, or in an environment that was cleaned/],
    [{ kind: "none" }, null, /STORMLOG_GATE_HEAP=preload/],
    [{ kind: "none" }, "the probe is not installed beside this program", /not installed/],
  ] as const)("probeSource has the reason why the probe attached to no process: %j, %j", (use, missing, reason) => {
    const source = probeSource(NOTHING, use, missing);
    expect(source).toMatchObject({ available: false, capabilities: [] });
    expect(source.reason).toMatch(reason);
  });
});

describe("known errors in the numbers of the probes", () => {
  it("probeCaveats names the processes that reset peaks", () => {
    expect(probeCaveats({ ...NOTHING, infos: [infoOf("traceml=1\npeaks_reset=1")] }).join()).toMatch(
      /TraceML.*process 5/,
    );
    expect(probeCaveats({ ...NOTHING, infos: [infoOf("peaks_reset=1")] }).join()).toMatch(/^process 5 set .* back/);
    expect(probeCaveats({ ...NOTHING, streams: [streamOf({ peaksReset: true, pid: 9 })] }).join()).toMatch(
      /^process 9/,
    );
    expect(probeCaveats({ infos: [infoOf("")], streams: [streamOf()], stepsSeen: false })).toEqual([]);
  });
});

describe("the fingerprint", () => {
  const outside: Fingerprint = {
    backend: "cuda",
    device_model: "NVIDIA H200 0, NVIDIA H200 1, NVIDIA H200 2",
    device_memory_bytes: 150_000_000_000,
    world_size: 1,
    framework: null,
    framework_version: null,
    allocator_settings: "default",
    python: null,
  };
  const processOf = (lines: string): ProbeProcess => withDriverIndex(infoOf(lines), DRIVERS);

  it("the fingerprint has the framework, the devices in use and the world size of the processes", () => {
    const main = processOf(
      "framework=torch\ntorch=2.13.0+cu128\npython=3.12.1\nrank=1\nrole=1\nworld_size=4\nsteps_from=optimizer-hook\nallocator_conf=expandable_segments:True\ndevice.cuda:0.uuid=BBBB-1",
    );
    expect(completedFingerprint(outside, [main], [streamOf({ kind: AllocatorKind.cuda })], DRIVERS)).toEqual({
      backend: "cuda",
      device_model: "NVIDIA H200 1",
      device_memory_bytes: 150_000_000_000,
      mig_profile: null,
      world_size: 4,
      framework: "torch",
      framework_version: "2.13",
      allocator_settings: "expandable_segments:True",
      python: "3.12.1",
    });
  });

  it("the fingerprint names the profile of the instance in use only", () => {
    const drivers = ["1g.10gb", "3g.40gb"].map((profile, i) => ({
      ...driver(256 + i, `MIG-${i}`),
      parent: 0,
      mig_profile: profile,
    }));
    const main = withDriverIndex(
      infoOf("framework=torch\ntorch=2.4\ncuda_visible_devices=MIG-1\ndevice.cuda:0.name=A"),
      [driver(0, "GPU-A"), ...drivers],
    );
    const used = [streamOf({ kind: AllocatorKind.cuda })];
    const both = { ...outside, mig_profile: "1g.10gb, 3g.40gb" };
    expect(completedFingerprint(both, [main], used, drivers).mig_profile).toBe("3g.40gb");
  });

  it("the fingerprint of a framework without a device is that of a CPU", () => {
    const main = processOf("framework=torch\ntorch=1.13.0a0\ndevice.cuda:0.uuid=BBBB-1");
    expect(completedFingerprint(outside, [main], [streamOf()], DRIVERS)).toMatchObject({
      backend: "cpu",
      device_model: null,
      framework_version: "1.13",
    });
  });

  it.each([
    ["framework=torch\ntorch=2.4\nhip=6.1", AllocatorKind.cuda, "rocm"],
    ["framework=torch\ntorch=2.4", AllocatorKind.mps, "mps"],
    ["framework=torch\ntorch=2.4", AllocatorKind.xpu, "xpu"],
    ["framework=jax\njax=0.5.1\ndevice.jax:0.name=NVIDIA A100", AllocatorKind.jax, "cuda"],
    ["framework=jax\njax=0.5.1\ndevice.jax:0.name=TPU v5", AllocatorKind.jax, "cpu"],
  ] as const)("the fingerprint has the backend of %j", (lines, kind, backend) => {
    expect(completedFingerprint(outside, [processOf(lines)], [streamOf({ kind })], []).backend).toBe(backend);
  });

  it("the fingerprint has only the version of Python without a framework, or for a launcher of ranks", () => {
    const completed = (...processes: readonly string[]) =>
      completedFingerprint(outside, processes.map(processOf), [streamOf()], DRIVERS);
    expect(completed("heap=mallinfo2")).toEqual(outside);
    expect(completed("heap=mallinfo2", "python=3.12.1", "python=3.12.1")).toEqual({ ...outside, python: "3.12.1" });
    expect(completed("framework=torch\nrole=agent\npython=3.12.1")).toEqual({ ...outside, python: "3.12.1" });
  });

  it("does not repeat allocator settings of the environment", () => {
    const environment = { ...outside, allocator_settings: "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64" };
    const own = (conf: string) =>
      completedFingerprint(environment, [processOf(`framework=torch\nallocator_conf=${conf}`)], [], [])
        .allocator_settings;
    expect(own("max_split_size_mb:64")).toBe("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64");
    expect(own("backend:cudaMallocAsync")).toBe(
      "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64; backend:cudaMallocAsync",
    );
  });

  it("keeps the part of a version that decides about compatibility", () => {
    expect([majorMinor("2.13.0+cpu"), majorMinor("0.5.1"), majorMinor("2"), majorMinor(undefined)]).toEqual([
      "2.13",
      "0.5",
      null,
      null,
    ]);
  });
});
