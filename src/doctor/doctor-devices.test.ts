import { describe, expect, it } from "vitest";
import { GIB } from "../core/units.ts";
import type { DeviceReport, SourceReport } from "../sampler/sampler.ts";
import { type Diagnosis, deviceDiagnoses } from "./doctor-devices.ts";
import type { HostEnvironment } from "./host-environment.ts";

const MACHINE: HostEnvironment = { wsl: false, container: false, ownPids: false, nvidiaNodes: "openable" };
const CONTAINER: HostEnvironment = { ...MACHINE, container: true, ownPids: true };

const HEALTHY: DeviceReport = {
  index: 0,
  name: "cuda:0",
  model: "NVIDIA H100 80GB HBM3",
  uuid: "GPU-1",
  total_bytes: 80 * GIB,
  driver: "580.65.06",
  backend: "nvml",
  capabilities: ["memory", "memory:v2", "processes", "accounting"],
  process_list: { entries: 0, unknown_memory: 0 },
  reason: null,
};
const READABLE: SourceReport = { name: "nvml", available: true, reason: null, capabilities: ["memory"] };
const unreadable = (reason: string): SourceReport => ({ name: "nvml", available: false, reason, capabilities: [] });

const rows = (source: SourceReport, devices: readonly DeviceReport[], here: HostEnvironment): Diagnosis[] =>
  deviceDiagnoses({ kind: "native", sources: [source], devices }, [source], here);
const device = (changes: Partial<DeviceReport>, here = MACHINE): Diagnosis =>
  rows(READABLE, [{ ...HEALTHY, ...changes }], here)[1]!;
const library = (reason: string, here: Partial<HostEnvironment> = {}): Diagnosis =>
  rows(unreadable(reason), [], { ...MACHINE, ...here })[0]!;

describe("the doctor's row of a GPU", () => {
  it("doctor reports a healthy GPU without a hint", () => {
    expect(device({})).toEqual({
      name: "cuda:0",
      status: "ok",
      detail: "NVIDIA H100 80GB HBM3, 80.00 GiB, GPU-1, memory by process, exact peaks",
      hint: null,
    });
  });

  it("hints at exact peaks and at a slow first attach, with status ok", () => {
    const row = device({ capabilities: ["memory", "processes", "accounting:off", "persistence:off"] });
    expect(row.status).toBe("ok");
    expect(row.hint?.split("\n")).toEqual([
      expect.stringContaining("nvidia-smi -am 1"),
      expect.stringContaining("nvidia-smi -pm 1"),
    ]);
  });

  it("derives from the driver's version what it reports inside a container", () => {
    expect(
      device({ driver: "535.54.03", capabilities: [...HEALTHY.capabilities!, "pids:host"] }, CONTAINER),
    ).toMatchObject({
      status: "limited",
      detail: expect.stringContaining("the one new process"),
      hint: expect.stringContaining("--pid=host"),
    });
    expect(device({ driver: "550.90.07" }, CONTAINER)).toMatchObject({
      status: "limited",
      detail: expect.stringContaining("the increase of the device's used memory"),
      hint: expect.stringMatching(/one job at a time .*--pid=host/),
    });
    expect(device({ driver: "565.57.01" }, CONTAINER)).toMatchObject({ status: "ok", hint: null });
    expect(device({ driver: "550.90.07" }, { ...CONTAINER, ownPids: false })).toMatchObject({ status: "ok" });
  });

  it("reports that WSL, and a list without memory, have no memory by process", () => {
    expect(device({ process_list: { entries: 1, unknown_memory: 1 } }, { ...MACHINE, wsl: true }).hint).toContain(
      "WSL",
    );
    expect(device({ process_list: { entries: 2, unknown_memory: 2 } }).hint).toContain(
      "does not report memory by process",
    );
    expect(device({ process_list: { entries: 2, unknown_memory: 1 } }).hint).toBeNull();
    expect(device({ capabilities: ["memory"], process_list: null }).hint).toContain("no list of processes");
  });

  it("refers to the MIG devices of a GPU that refuses its own counters", () => {
    const gpu = { ...HEALTHY, capabilities: ["mig"], reason: "it is divided by MIG" };
    const part = { ...HEALTHY, index: 256, name: "mig:0.0", parent: 0, mig_profile: "1g.10gb", uuid: "MIG-1" };
    const [, first, second] = rows(READABLE, [gpu, part], MACHINE);
    expect(first).toMatchObject({
      status: "ok",
      detail: expect.stringContaining("divided by MIG"),
      hint: null,
    });
    expect(second).toMatchObject({ status: "ok", detail: expect.stringContaining("1g.10gb") });
    expect(rows(READABLE, [gpu], MACHINE)[1]).toMatchObject({
      status: "missing",
      hint: expect.stringMatching(/mig -cgi/),
    });
    expect(rows(READABLE, [gpu], CONTAINER)[1]?.hint).toContain("into the container");
  });

  it("doctor reports a lost GPU as missing, with a remedy", () => {
    const row = device({ capabilities: [], reason: "memory: GPU_IS_LOST" });
    expect(row).toMatchObject({ status: "missing", hint: expect.stringContaining("grep Xid") });
    expect(row.detail).toMatch(/^the GPU is lost/);
  });

  it("reports an unknown size as unknown, and shared memory as shared", () => {
    const row = device({ total_bytes: null, unified: true, reason: "it has no memory of its own" });
    expect(row).toMatchObject({ status: "limited", hint: "It has no memory of its own." });
    expect(row.detail).toContain("size unknown, shared with the CPU");
  });
});

describe("the doctor's row of NVIDIA's driver", () => {
  it("does not report a machine without a GPU as missing", () => {
    const row = library("the NVIDIA management library cannot be loaded: x", { nvidiaNodes: "none" });
    expect(row).toMatchObject({ status: "limited", detail: "no NVIDIA driver" });
    expect(
      library("the NVIDIA management library cannot be loaded: x", { nvidiaNodes: "none", wsl: true }).hint,
    ).toContain("Windows");
  });

  it("reports a GPU whose library is missing", () => {
    expect(library("the NVIDIA management library cannot be loaded: x")).toMatchObject({
      status: "missing",
      hint: expect.stringContaining("Install"),
    });
    expect(library("the NVIDIA management library cannot be loaded: x", { container: true }).hint).toContain(
      "NVIDIA_DRIVER_CAPABILITIES",
    );
  });

  it.each([
    ["LIB_RM_VERSION_MISMATCH", {}, "missing", /reboot/],
    ["LIB_RM_VERSION_MISMATCH", { container: true }, "missing", /Start the container again/],
    ["DRIVER_NOT_LOADED", { nvidiaNodes: "none" }, "limited", /Fine on a machine without/],
    ["DRIVER_NOT_LOADED", {}, "missing", /modprobe nvidia/],
    ["NO_PERMISSION", {}, "missing", /\/dev\/nvidia/],
    ["OPERATING_SYSTEM", { container: true }, "missing", /--gpus all/],
    ["UNKNOWN", { container: true }, "missing", /daemon-reload/],
    ["UNKNOWN", {}, "missing", /NVRM/],
  ] as const)("doctor has a remedy for %s in %o", (code, here, status, remedy) => {
    const row = library(`the NVIDIA driver does not answer: ${code}`, here);
    expect(row.status).toBe(status);
    expect(row.hint).toMatch(remedy);
    expect(row.detail).not.toContain(code);
  });

  it("keeps a reason that it does not know", () => {
    expect(library("something new")).toMatchObject({ status: "limited", detail: "something new" });
  });

  it("reports the fault of a GPU in the row of the GPU, and still reads the others", () => {
    const lost = { ...HEALTHY, index: 1, name: "cuda:1", capabilities: [], reason: "no access: GPU_IS_LOST" };
    const source = { ...READABLE, reason: "cuda:1: no access: GPU_IS_LOST" };
    expect(rows(source, [HEALTHY, lost], MACHINE).map(({ name, status }) => [name, status])).toEqual([
      ["nvml", "ok"],
      ["cuda:0", "ok"],
      ["cuda:1", "missing"],
    ]);
    const none = {
      ...source,
      available: false,
      reason: "no NVIDIA device can be read: cuda:1: no access: GPU_IS_LOST",
    };
    expect(rows(none, [lost], MACHINE)[0]).toMatchObject({ detail: "no device can be read", hint: null });
  });

  it("gives no advice about NVIDIA where another vendor's card was found", () => {
    const card = { ...HEALTHY, name: "amd:0", backend: "amd" } as const;
    const [row] = rows(unreadable("the NVIDIA management library cannot be loaded: x"), [card], {
      ...MACHINE,
      nvidiaNodes: "none",
    });
    expect(row).toEqual({ name: "nvml", status: "limited", detail: "no NVIDIA driver", hint: null });
  });
});
