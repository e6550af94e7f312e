import { spawn, spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { noFakeNvml } from "./testing/fake-nvml.ts";
import {
  DRIVER_USED,
  deviceOf,
  expectMostOfHeld,
  GIB,
  highest,
  kindsOf,
  MIB,
  ONE_GPU,
  type Seen,
  seen,
  TRAIN,
  TRAIN_HELD,
  TRAIN_OUTSIDE_ALLOCATOR,
  TRAIN_RESERVED,
  values,
  withDriver,
} from "./testing/measured.ts";
import { measuredAll } from "./testing/measured-all.ts";

const UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc"];
/** As in a container: processes have separate pids. */
const ownPids = { under: UNSHARE };
const mayUnshare = spawnSync(UNSHARE[0]!, [...UNSHARE.slice(1), "true"]).status === 0;

/** A process outside the job that lives as long as the tests. */
function otherProcess(): number {
  const child = spawn("sleep", ["600"], { stdio: "ignore" });
  process.once("exit", () => child.kill("SIGKILL"));
  return child.pid ?? 0;
}

/** Its memory moves by 4 GiB while the job runs. */
function tenant(bytes: (size: number) => string): string[] {
  const pid = otherProcess();
  const at = (ms: number, size: number): string[] => [
    `proc ${ms} 0 ${pid} ${bytes(size)}`,
    `at ${ms} 0 ${DRIVER_USED + size} ${300 * MIB} ${80 * GIB}`,
  ];
  return [...ONE_GPU, ...at(0, GIB), ...at(1400, 5 * GIB)];
}

const absent = noFakeNvml();
const run = measuredAll<Seen>(
  absent !== null
    ? {}
    : {
        pid: () => seen([...ONE_GPU, "accounting 0 on"]),
        twice: () => seen([...ONE_GPU, `proc 0 0 job ${TRAIN_HELD} compute again`, `proc 0 0 0 ${GIB}`]),
        tenant: () => seen(tenant(String)),
        untold: () => seen([...ONE_GPU, "proc 0 0 job na"]),
        empty: () => seen([...ONE_GPU, "proc 0 0 job gone"]),
        unknownTenant: () => seen([...ONE_GPU, `proc 1400 0 ${otherProcess()} na`, "proc 0 0 job na"]),
        ...(mayUnshare && {
          hostPids: () => seen([...withDriver("535.54.03"), "pidns host"], TRAIN, ownPids),
          noMemory: () => seen([...withDriver("550.90.07"), "pidns zero-mem"], TRAIN, ownPids),
          converted: () => seen([...withDriver("570.86.15"), "pidns converted"], TRAIN, ownPids),
        }),
      },
);

describe.skipIf(absent !== null)(`memory of the job on a GPU${absent === null ? "" : ` (${absent})`}`, () => {
  it("memory is attributed by pid where the driver names processes, with the exact peak of the job alone", () => {
    const pid = run("pid");
    expect(pid.code).toBe(0);
    expect(deviceOf(pid, "cuda:0")).toMatchObject({
      attribution: "pid",
      attribution_reason: null,
      baseline_used_bytes: DRIVER_USED,
      job_peak_bytes: TRAIN_HELD,
      job_peak_kind: "exact",
      others_peak_bytes: 0,
    });
    expect(highest(pid.recording, "cuda:0", "used")).toBe(DRIVER_USED + TRAIN_HELD);
    expect(highest(pid.recording, "cuda:0", "reserved")).toBe(TRAIN_RESERVED);
    expect(highest(pid.recording, "cuda:0", "driver")).toBe(300 * MIB);
    // Between a new allocation and the next reading of the other clock, the gap holds some of the allocator's,
    // too.
    expect(deviceOf(pid, "cuda:0").gap?.peak_bytes).toBeGreaterThanOrEqual(TRAIN_OUTSIDE_ALLOCATOR);
    expect(kindsOf(pid)).not.toContain("other_tenant");
  });

  it("costs the driver no more lists than one a second and one for what happens, and one handle", () => {
    const { calls, info, recording } = run("pid");
    expect(calls.get("nvmlDeviceGetHandleByIndex_v2")).toBe(1);
    const seconds = info.clock.duration_s ?? 0;
    expect(calls.get("nvmlDeviceGetComputeRunningProcesses_v2")).toBeLessThan(4 * seconds + 4);
    // As a control: every reading of the record is a counted call.
    const readings = values(recording, "cuda:0", "used").length;
    expect(readings).toBeGreaterThan(20);
    expect(calls.get("nvmlDeviceGetMemoryInfo_v2")).toBeGreaterThanOrEqual(readings);
    expect([...calls.keys()].filter((name) => /Utilization|Power|Fan|Temperature/.test(name))).toEqual([]);
  });

  it("counts a process that is listed twice once, and process 0 not at all", () => {
    const device = deviceOf(run("twice"), "cuda:0");
    expect(device).toMatchObject({ attribution: "pid", others_peak_bytes: 0 });
    expectMostOfHeld(device.job_peak_bytes);
  });

  it("memory of another tenant is reported separately, and its change is a finding", () => {
    const other = run("tenant");
    expect(deviceOf(other, "cuda:0")).toMatchObject({
      attribution: "pid",
      others_first_bytes: GIB,
      others_peak_bytes: 5 * GIB,
    });
    expect(highest(other.recording, "cuda:0", "job")).toBeLessThanOrEqual(TRAIN_HELD);
    const finding = other.findings.find(({ classification }) => classification === "other_tenant");
    expect(finding).toMatchObject({ severity: "warning", device: "cuda:0" });
    expect(finding?.description).toContain("4.00 GiB");
    expect(other.summary).toContain("other tenant");
  });

  it.each(["untold", "empty"] as const)(
    "the job's memory is the device's use above its baseline where the process list is %s",
    (name) => {
      const device = deviceOf(run(name), "cuda:0");
      expect(device).toMatchObject({
        attribution: "device-delta",
        attribution_reason: expect.any(String),
        job_peak_bytes: TRAIN_HELD,
        job_peak_kind: "sampled",
      });
      expect(highest(run(name).recording, "cuda:0", "job")).toBeNull();
    },
  );

  it("the job's memory is unknown where another process of unknown size uses the device", () => {
    expect(deviceOf(run("unknownTenant"), "cuda:0")).toMatchObject({
      attribution: "none",
      attribution_reason: expect.any(String),
      job_peak_bytes: null,
    });
  });
});

describe.skipIf(absent !== null || !mayUnshare)("memory of the job in a container, by the driver's version", () => {
  it("the job's memory in a container is that of the one new process while pids are the host's", () => {
    const old = run("hostPids");
    expect(deviceOf(old, "cuda:0")).toMatchObject({
      attribution: "single-new-pid",
      attribution_reason: expect.any(String),
    });
    expectMostOfHeld(highest(old.recording, "cuda:0", "job"));
  });

  it("the job's memory in a container is the device's while the driver looks it up by the wrong pid", () => {
    const later = run("noMemory");
    expect(deviceOf(later, "cuda:0")).toMatchObject({ attribution: "device-delta", job_peak_bytes: TRAIN_HELD });
    expect(highest(later.recording, "cuda:0", "job")).toBeNull();
  });

  it("the job's memory in a container is attributed by pid with a driver that converts both numbers", () => {
    expect(deviceOf(run("converted"), "cuda:0").attribution).toBe("pid");
  });
});
