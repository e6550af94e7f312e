import { describe, expect, it } from "vitest";
import { noFakeNvml, processLists } from "./testing/fake-nvml.ts";
import {
  DRIVER_USED,
  deviceOf,
  expectMostOfHeld,
  GIB,
  healthMs,
  highest,
  kindsOf,
  MIB,
  ONE_GPU,
  type Seen,
  seen,
  TRAIN,
  TRAIN_HELD,
  values,
  withDriver,
} from "./testing/measured.ts";
import { measuredAll } from "./testing/measured-all.ts";

const KEPT_BY_DRIVER = 300 * MIB;
const V2_LISTS = processLists("_v2");
const SMALL_LISTS = [...processLists(""), ...V2_LISTS];
const ALL_LISTS = [...SMALL_LISTS, "nvmlDeviceGetRunningProcessDetailList"];

const twoGpus = ["devices 2", "driver 580.65.06"].concat(
  [0, 1].flatMap((gpu) => [
    `model ${gpu} NVIDIA H100`,
    `uuid ${gpu} GPU-${gpu}`,
    `at 0 ${gpu} ${DRIVER_USED} ${KEPT_BY_DRIVER} ${80 * GIB}`,
  ]),
);
const mig = [
  "devices 1",
  "driver 550.54.15",
  "model 0 NVIDIA A100-SXM4-40GB",
  "mig-only 0",
  `mig 0 0 1g.5gb MIG-11111111-0000-0000-0000-000000000000 ${5 * GIB}`,
  `mig 0 1 2g.10gb MIG-22222222-0000-0000-0000-000000000000 ${10 * GIB}`,
];

const absent = noFakeNvml();
const run = measuredAll<Seen>(
  absent !== null
    ? {}
    : {
        "refused version word": () => seen([...ONE_GPU, "v2-code 25"]),
        "no second memory query": () => seen(ONE_GPU, TRAIN, { without: ["nvmlDeviceGetMemoryInfo_v2"] }),
        "470": () => seen([...withDriver("470.10.1"), "api 470"]),
        "rows of 16": () => seen(ONE_GPU, TRAIN, { without: V2_LISTS }),
        "rows of 32": () => seen(ONE_GPU, TRAIN, { without: SMALL_LISTS }),
        "list that grows": () => seen([...ONE_GPU, "grow 1"]),
        "lists refused": () => seen([...ONE_GPU, "error 0 0 4 processes"]),
        "lists unsupported": () => seen([...ONE_GPU, "error 0 0 3 processes"]),
        "no lists": () => seen(ONE_GPU, TRAIN, { without: ALL_LISTS }),
        "memory unsupported": () => seen([...ONE_GPU, "error 0 0 3"]),
        "total of zero": () => seen([...ONE_GPU, "at 0 0 0 0 0"]),
        mig: () => seen(mig),
        "gone GPU": () => seen([...twoGpus, "count 1000 1"]),
        "other order": () => seen(twoGpus, TRAIN, { env: { FAKE_CUDA_DEVICES: "1=1=NVIDIA H100,0=0=NVIDIA H100" } }),
        capacity: () => seen([...ONE_GPU, `at 1000 0 ${DRIVER_USED} ${KEPT_BY_DRIVER} ${70 * GIB}`]),
      },
);

const used = ({ recording }: Seen): number | null => highest(recording, "cuda:0", "used");

describe.skipIf(absent !== null)(`memory of a device${absent === null ? "" : ` (${absent})`}`, () => {
  it.each(["refused version word", "no second memory query", "470"])(
    "a device's memory is read by the older query, with the driver's share, where the newer is missing: %s",
    (name) => {
      expect(used(run(name))).toBe(DRIVER_USED + KEPT_BY_DRIVER + TRAIN_HELD);
      expect(highest(run(name).recording, "cuda:0", "driver")).toBeNull();
      const device = deviceOf(run(name), "cuda:0");
      expect(device.capabilities).toContain("memory:v1");
      expect(device).toMatchObject({ attribution: "pid", baseline_used_bytes: DRIVER_USED + KEPT_BY_DRIVER });
    },
  );

  it.each(["memory unsupported", "total of zero"])(
    "a device's memory is absent, not 0, where GPU and CPU share it, and processes are still attributed: %s",
    (name) => {
      const one = run(name);
      expect(one.code).toBe(0);
      expect(used(one)).toBeNull();
      expect(deviceOf(one, "cuda:0")).toMatchObject({
        unified: true,
        total_bytes: null,
        baseline_used_bytes: null,
        attribution: "pid",
        reason: expect.stringContaining("shares its memory"),
      });
      // No step of the device's own memory calls for a list at the right moment.
      const held = highest(one.recording, "cuda:0", "job");
      expect(held).toBeGreaterThan(0);
      expect(held).toBeLessThanOrEqual(TRAIN_HELD);
    },
  );

  it("a device whose memory changes its size in mid-run is a finding", () => {
    const finding = run("capacity").findings.find(({ classification }) => classification === "device_capacity_changed");
    expect(finding).toMatchObject({ severity: "warning", device: "cuda:0" });
    expect(finding?.description).toContain("70.00 GiB");
  });
});

describe.skipIf(absent !== null)("processes of a device", () => {
  it.each(["rows of 16", "rows of 32", "list that grows"])(
    "the process list is read correctly from every layout: %s",
    (name) => {
      const device = deviceOf(run(name), "cuda:0");
      expect(device).toMatchObject({ attribution: "pid", others_peak_bytes: 0 });
      expectMostOfHeld(device.job_peak_bytes);
    },
  );

  it.each(["lists refused", "lists unsupported", "no lists"])(
    "the device's own memory is read without process lists: %s",
    (name) => {
      expect(used(run(name))).toBe(DRIVER_USED + TRAIN_HELD);
      expect(deviceOf(run(name), "cuda:0")).toMatchObject({
        attribution: "device-delta",
        attribution_reason: "no list of processes could be read",
        reason: expect.stringContaining("process"),
        job_peak_bytes: TRAIN_HELD,
      });
      expect(values(run(name).recording, "cuda:0", "job")).toEqual([]);
    },
  );
});

describe.skipIf(absent !== null)("devices of a machine", () => {
  it("the MIG devices of a divided GPU are reported under the names that the program has for them", () => {
    const one = run("mig");
    expect(one.code).toBe(0);
    expect(deviceOf(one, "cuda:0")).toMatchObject({
      parent: 0,
      mig_profile: "1g.5gb",
      uuid: "MIG-11111111-0000-0000-0000-000000000000",
      total_bytes: 5 * GIB,
      attribution: "pid",
    });
    expectMostOfHeld(deviceOf(one, "cuda:0").job_peak_bytes);
    expect(used(one)).toBe(TRAIN_HELD);
    expect(deviceOf(one, "mig:0.1")).toMatchObject({ attribution: "none", mig_profile: "2g.10gb" });
    expect(one.info.devices?.find(({ index }) => index === 0)?.reason).toContain("divided by MIG");
    expect(one.info.fingerprint.mig_profile).toBe("1g.5gb");
  });

  it("devices are named in the program's order, not the driver's", () => {
    const device = deviceOf(run("other order"), "cuda:0");
    expect(device).toMatchObject({ index: 1, uuid: "GPU-1", attribution: "pid" });
    expectMostOfHeld(device.job_peak_bytes);
    expect(used(run("other order"))).toBe(DRIVER_USED + TRAIN_HELD);
    expect(run("other order").info.devices?.find(({ index }) => index === 0)).toMatchObject({ attribution: "none" });
  });

  it("devices may be pulled out one by one", () => {
    const one = run("gone GPU");
    expect(one.code).toBe(0);
    expect(kindsOf(one)).toEqual(expect.arrayContaining(["device_count_changed", "device_lost"]));
    expect(values(one.recording, "cuda:1", "used").at(-1)?.ms).toBeLessThan(healthMs(one.recording, "lost"));
    expect(used(one)).toBe(DRIVER_USED + TRAIN_HELD);
  });
});
