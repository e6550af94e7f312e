import { describe, expect, it } from "vitest";
import { AllocatorKind, ProcessRole } from "../../sampler/record-layout.ts";
import type { DeviceBackend, DeviceReport } from "../../sampler/sampler.ts";
import { type DeviceVisibility, parseProbeInfo } from "../../telemetry/reading/probe-info.ts";
import type { DeviceLists } from "../../telemetry/recording/record-columns.ts";
import type { RecordedStream } from "../../telemetry/recording/recorded-streams.ts";
import { driverIndex, withDriverIndex, withListedDevices } from "./device-owners.ts";

const report = (index: number, changes: Partial<DeviceReport> = {}): DeviceReport => ({
  index,
  name: `cuda:${index}`,
  model: "NVIDIA H200",
  uuid: `GPU-${"abcdef"[index] ?? "x"}${index}00-1111`,
  total_bytes: 150e9,
  driver: "570",
  backend: "nvml",
  pci_bus_id: `00000000:${index + 1}B:00.0`,
  ...changes,
});
const visible = (changes: Partial<DeviceVisibility> = {}): DeviceVisibility => ({
  cuda: null,
  order: null,
  hip: null,
  rocr: null,
  ze: null,
  ...changes,
});
const own = (index: number, uuid: string | null = null, pciBusId: string | null = null) => ({ index, uuid, pciBusId });

describe("the driver's number of an NVIDIA process's device", () => {
  const alike = [report(0), report(1), report(2)];
  const mixed = [report(0, { model: "NVIDIA T4", total_bytes: 16e9 }), report(1), report(2)];

  it.each([
    [own(0, "b100-1111"), {}, 1],
    [own(0, "GPU-C200-1111"), { cuda: "7,8" }, 2],
    [own(0, "ffff-3"), {}, null],
    [own(0, null, "0000:2b:00.0"), {}, 1],
    [own(0, "ffff-3", "0000:3B:00.0"), {}, 2],
    [own(1), {}, 1],
    [own(9), {}, null],
    [own(1), { cuda: "2, 0" }, 0],
    [own(0), { cuda: "GPU-c2" }, 2],
    [own(0), { cuda: "GPU-" }, null],
    [own(2), { cuda: "0,1" }, null],
    [own(1), { cuda: "0,-1,2" }, null],
    [own(0), { cuda: "" }, 0],
  ])("the driver's number of NVIDIA's device %j under %j is %j", (device, env, index) => {
    expect(driverIndex(device, "nvml", visible(env), alike)).toBe(index);
  });

  it("a device is not guessed from numbers where devices differ, unless CUDA counts as the driver does", () => {
    expect(driverIndex(own(0), "nvml", visible(), mixed)).toBeNull();
    expect(driverIndex(own(0), "nvml", visible({ cuda: "2,1" }), mixed)).toBeNull();
    expect(driverIndex(own(0), "nvml", visible({ cuda: "2,1", order: "PCI_BUS_ID" }), mixed)).toBe(2);
    expect(driverIndex(own(0), "nvml", visible({ cuda: "GPU-b1" }), mixed)).toBe(1);
    expect(driverIndex(own(0, "c200-1111"), "nvml", visible(), mixed)).toBe(2);
  });

  it("the driver's number is that of an instance where the GPU is split", () => {
    const instance = (index: number, parent: number, uuid: string) =>
      report(index, { name: `mig:${parent}.0`, parent, uuid, mig_profile: "1g.10gb", pci_bus_id: null });
    const split = [
      report(0),
      instance(256, 0, "MIG-aaaa-1"),
      instance(257, 0, "MIG-bbbb-2"),
      report(1),
      instance(264, 1, "MIG-cccc-3"),
    ];
    const at = (device: ReturnType<typeof own>, cuda: string | null) =>
      driverIndex(device, "nvml", visible({ cuda }), split);
    expect(at(own(0), "MIG-bbbb-2")).toBe(257);
    expect(at(own(0), "MIG-bb")).toBe(257);
    expect(at(own(1), "MIG-aaaa-1,MIG-cccc-3")).toBe(264);
    // For an instance a process may report the identity of its GPU: the entry decides, otherwise the only instance.
    expect(at(own(0, "a000-1111"), "MIG-bbbb-2")).toBe(257);
    expect(at(own(0, "b100-1111"), null)).toBe(264);
    expect(at(own(0, "a000-1111"), null)).toBeNull();
    expect(at(own(0, "aaaa-1"), null)).toBe(256);
    expect(at(own(1), "0,1")).toBe(264);
  });

  it("the driver's number is found by the older form of an instance's name as a whole", () => {
    const old = [
      report(0),
      report(256, { parent: 0, uuid: "MIG-GPU-a000/1/0" }),
      report(257, { parent: 0, uuid: "MIG-GPU-a000/2/0" }),
    ];
    expect(driverIndex(own(0), "nvml", visible({ cuda: "MIG-GPU-a000/2/0" }), old)).toBe(257);
  });
});

describe("the driver's number of a device of another vendor", () => {
  const card = (index: number, backend: DeviceBackend, changes: Partial<DeviceReport> = {}) =>
    report(index, {
      name: `${backend}:${index}`,
      backend,
      uuid: null,
      pci_bus_id: `0000:0${index - 4095}:00.0`,
      ...changes,
    });
  const amds = [
    card(4096, "amd", { uuid: "0xDEAD" }),
    card(4097, "amd", { uuid: "0xbeef" }),
    card(4098, "amd", { uuid: "0xcafe" }),
  ];
  const intels = [card(4096, "intel"), card(4097, "intel")];

  it.each([
    [own(1), {}, 4097],
    [own(0), { hip: "2,0" }, 4098],
    [own(0), { cuda: "1" }, 4097],
    [own(1), { rocr: "1,2" }, 4098],
    [own(0), { rocr: "1,2", hip: "1" }, 4098],
    [own(0), { rocr: "GPU-beef" }, 4097],
    [own(3), {}, null],
    [own(0, "36336663-3338"), {}, 4096],
    [own(0, null, "0000:03:00.0"), {}, 4098],
  ])("the driver's number of ROCm's device %j under %j is %j", (device, env, index) => {
    expect(driverIndex(device, "amd", visible(env), amds)).toBe(index);
  });

  it("a ROCm device is not guessed among different cards, or next to integrated graphics", () => {
    const unlike = [card(4096, "amd", { model: "Radeon" }), card(4097, "amd", { unified: true, model: "Radeon" })];
    expect(driverIndex(own(0), "amd", visible(), unlike)).toBeNull();
    expect(driverIndex(own(0), "amd", visible(), [amds[0]!, card(4097, "amd", { model: "MI50" })])).toBeNull();
    expect(driverIndex(own(5), "amd", visible(), [amds[0]!])).toBe(4096);
  });

  it("Intel's device is the mask's card, and without a mask its own number where tiles are not counted", () => {
    expect(driverIndex(own(0), "intel", visible({ ze: "1.0" }), intels)).toBe(4097);
    expect(driverIndex(own(1), "intel", visible(), intels, 2)).toBe(4097);
    expect(driverIndex(own(1), "intel", visible(), intels, 4)).toBeNull();
    expect(driverIndex(own(3), "intel", visible(), [intels[0]!], 4)).toBe(4096);
  });

  it("Apple's device is the only one", () => {
    const apple = report(8192, { name: "mps:0", backend: "apple" });
    expect(driverIndex(own(0), "apple", visible(), [report(0), apple])).toBe(8192);
    expect(driverIndex(own(0), "apple", visible(), [report(0)])).toBeNull();
  });
});

describe("processes and devices", () => {
  it("processes and devices are matched by the reports of the probe", () => {
    const info = parseProbeInfo(
      "pid=5\nframework=torch\ncuda_visible_devices=1\ndevice.cuda:0.name=NVIDIA H200\ndevice.cuda:0.pci=0000:3b:00.0",
    )!;
    expect(withDriverIndex(info, [report(0), report(1), report(2)]).devices[0]).toMatchObject({ driver_index: 2 });
    const hip = parseProbeInfo(
      "pid=5\nframework=torch\nhip=6.1\nrocr_visible_devices=GPU-beef\ndevice.cuda:0.name=MI300X",
    )!;
    const amd = report(4096, { name: "amd:0", backend: "amd", uuid: "0xbeef" });
    expect(withDriverIndex(hip, [report(0), amd]).devices[0]).toMatchObject({ driver_index: 4096 });
  });

  it("processes and devices are matched by the driver's list where reports do not distinguish devices", () => {
    const process = withDriverIndex(
      parseProbeInfo("pid=5\nframework=torch\nhip=6.1\ndevice.cuda:0.name=A\ndevice.cuda:1.name=B")!,
      [],
    );
    const drivers = [4096, 4097].map((index, i) => report(index, { name: `amd:${i}`, backend: "amd", model: `M${i}` }));
    const lists = (index: number, pid: number): DeviceLists => ({
      index,
      timeNs: Float64Array.of(1),
      ends: Float64Array.of(1),
      pids: Float64Array.of(pid),
      bytes: Float64Array.of(9),
      owners: Float64Array.of(1),
    });
    const stream = { pid: 5, kind: AllocatorKind.cuda, index: 0, role: ProcessRole.plain } as RecordedStream;
    const mapped = (of: DeviceLists[], streams = [stream]) =>
      withListedDevices([process], drivers, { lists: of, streams })[0]?.devices.map(({ driver_index: index }) => index);
    expect(mapped([lists(4097, 5), lists(4096, 77)])).toEqual([4097, null]);
    expect(mapped([lists(4097, 5), lists(4096, 5)])).toEqual([null, null]);
    expect(mapped([lists(4097, 5)], [])).toEqual([null, null]);
    expect(mapped([lists(4097, 5)], [stream, { ...stream, index: 1 }])).toEqual([null, null]);
  });
});
