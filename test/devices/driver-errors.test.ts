import { describe, expect, it } from "vitest";
import { fakeNvmlLibrary } from "./testing/built.ts";
import { noFakeNvml } from "./testing/fake-nvml.ts";
import {
  deviceOf,
  expectHostSampled,
  healthMs,
  highest,
  kindsOf,
  ONE_GPU,
  type Seen,
  seen,
  TRAIN_RESERVED,
  trainSteps,
  values,
} from "./testing/measured.ts";
import { measuredAll } from "./testing/measured-all.ts";

/** What init answers, by the name that a person is shown. */
const INIT: Readonly<Record<string, number>> = {
  NO_PERMISSION: 4,
  DRIVER_NOT_LOADED: 9,
  OPERATING_SYSTEM: 17,
  LIB_RM_VERSION_MISMATCH: 18,
  UNKNOWN: 999,
};
const HANDLE: Readonly<Record<string, number>> = { NO_PERMISSION: 4, GPU_IS_LOST: 15, GPU_NOT_FOUND: 28 };

/** Two seconds until the driver fails, and more than two after it. */
const LONG = trainSteps(150);
const both = (ms: number, code: number): string[] => [`error ${ms} 0 ${code}`, `error ${ms} 0 ${code} processes`];

const absent = noFakeNvml();
const run = measuredAll<Seen>(
  absent !== null
    ? {}
    : {
        library: () => seen(ONE_GPU, undefined, { env: { STORMLOG_GATE_NVML: "/nowhere/libnvidia-ml.so.1" } }),
        ...Object.fromEntries(
          Object.entries(INIT).map(([name, code]) => [`init ${name}`, () => seen([...ONE_GPU, `init ${code}`])]),
        ),
        ...Object.fromEntries(
          Object.entries(HANDLE).map(([name, code]) => [
            `handle ${name}`,
            () => seen([...ONE_GPU, `handle-code 0 ${code}`]),
          ]),
        ),
        lost: () => seen([...ONE_GPU, ...both(2000, 15), "event 1990 0 xid 79"], LONG),
        // Longer than a sampler waits for a busy machine, so that it meets the failure.
        recovers: () => seen([...ONE_GPU, "error 1000 0 10", "error 2000 0 0"], LONG),
        mismatch: () => seen([...ONE_GPU, ...both(2000, 18)], LONG),
        unknown: () => seen([...ONE_GPU, ...both(2000, 999)], LONG),
        events: () => seen([...ONE_GPU, "event 1000 0 xid 63", "event 1100 0 ecc 0", "event 1200 0 xid 12345"]),
      },
);

describe.skipIf(absent !== null)(`a driver that does not answer${absent === null ? "" : ` (${absent})`}`, () => {
  it.each([
    "library",
    ...Object.keys(INIT).map((name) => `init ${name}`),
    ...Object.keys(HANDLE).map((name) => `handle ${name}`),
  ])("costs the run nothing but the GPU's own numbers: %s", (name) => {
    const one = run(name);
    expect(one.code).toBe(0);
    expect(one.info).toMatchObject({ complete: true, exit: { kind: "exited", code: 0 }, sampler: { kind: "native" } });
    expect(highest(one.recording, "cuda:0", "used")).toBeNull();
    expect(highest(one.recording, "cuda:0", "reserved")).toBe(TRAIN_RESERVED);
    expect(highest(one.recording, "host", "host")).toBeGreaterThan(0);
    const source = one.info.sources.find((each) => each.name === "nvml");
    expect(source?.available).toBe(false);
    const code = name.split(" ")[1] ?? "cannot be loaded";
    expect(source?.reason).toContain(code);
    const unread = one.findings.find(({ classification }) => classification === "device_unread");
    expect(unread).toMatchObject({ severity: "info", device: "cuda:0" });
    expect(unread?.description).toContain(code);
    expect(one.summary).toContain("used a GPU whose driver could not be read");
  });
});

describe.skipIf(absent !== null)("a driver that fails while it is measured", () => {
  it.each([
    ["lost", "device_lost", "cuda:0"],
    // No query succeeds any more, on any device.
    ["mismatch", "device_driver_mismatch", null],
    ["unknown", "device_unreachable", null],
  ])("ends the GPU's samples with one finding, and the host's go on: %s", (name, classification, device) => {
    const one = run(name);
    expect(one.code).toBe(0);
    const used = values(one.recording, "cuda:0", "used");
    const failedMs = healthMs(one.recording, classification.slice("device_".length).replaceAll("_", "-"));
    // The driver's clock starts with its library, which a busy machine loads late.
    expect(failedMs).toBeLessThan(values(one.recording, "host", "host").at(-1)?.ms ?? 0);
    expect(used.at(-1)?.ms).toBeLessThanOrEqual(failedMs);
    expect(used.length).toBeGreaterThan(20);
    expectHostSampled(one.recording, failedMs);
    expect(one.findings.filter((each) => each.classification === classification)).toMatchObject([
      { severity: "critical", device },
    ]);
    expect(
      one.recording.health?.filter(({ kind }) => `device_${kind.replaceAll("-", "_")}` === classification),
    ).toMatchObject([{ count: 1 }]);
    expect(one.summary).toContain(classification.replaceAll("_", " "));
  });

  it("reports the Xid that preceded the loss", () => {
    const xid = run("lost").findings.find(({ classification }) => classification === "device_xid");
    expect(xid).toMatchObject({ severity: "critical" });
    expect(xid?.description).toContain("Xid 79");
  });

  it("the driver is queried again after a possibly temporary failure, without invented samples in between", () => {
    const one = run("recovers");
    const used = values(one.recording, "cuda:0", "used").map(({ ms }) => ms);
    const recovered = one.recording.health?.find(({ kind }) => kind === "recovered");
    const recoveredMs = (recovered?.timeNs ?? Number.NaN) / 1e6;
    const failedMs = recoveredMs - (recovered?.code ?? Number.NaN) / 1e6;
    expect(used.filter((ms) => ms >= failedMs && ms < recoveredMs)).toEqual([]);
    expect(used[0]).toBeLessThan(failedMs);
    expect(used.at(-1)).toBeGreaterThan(recoveredMs);
    expect(kindsOf(one)).not.toContain("device_lost");
    expect(deviceOf(one, "cuda:0").attribution).toBe("pid");
  });

  it("reports hardware errors, known ones by meaning and others by number", () => {
    const { findings, summary } = run("events");
    expect(findings.filter(({ classification }) => classification === "device_ecc")).toHaveLength(1);
    const texts = findings
      .filter(({ classification }) => classification === "device_xid")
      .map((each) => each.description);
    expect(texts.some((text) => /Xid 63\b.*row/.test(text))).toBe(true);
    expect(texts.some((text) => text.includes("Xid 12345"))).toBe(true);
    expect(summary).toContain("Xid 63");
  });
});

describe.skipIf(absent !== null)("the fake library", () => {
  it("the fake library lacks what a test took out of it", () => {
    expect(fakeNvmlLibrary(["nvmlDeviceGetMemoryInfo_v2"])).not.toBe(fakeNvmlLibrary());
  });
});
