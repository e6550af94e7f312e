import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type NativeAddon, startNative } from "../../src/sampler/native.ts";
import { has, nativeBuild } from "./testing/built.ts";
import { fakeNvml } from "./testing/fake-nvml.ts";

const able = process.platform === "linux" && has("gcc") && has("g++") && has("cmake");

afterEach(() => void vi.unstubAllEnvs());

describe.runIf(able)("the native sampler beside two GPUs", () => {
  it("lists the capabilities of each device, its processes and the cost of reading them", {
    timeout: 300_000,
  }, async () => {
    const fake = fakeNvml([
      "devices 2",
      "driver 575.57.08",
      "nvml 12.575.57.08",
      "persistence 0 off",
      "accounting 1 on",
      "pci 1 00000000:3B:00.0",
      "at 0 0 1000 0 100000",
      "at 0 1 2000 0 200000",
      `proc 0 0 ${process.pid} na`,
      `proc 0 0 ${process.ppid} 700`,
    ]);
    for (const [name, value] of Object.entries(fake.env)) vi.stubEnv(name, value);
    const addon = createRequire(import.meta.url)(path.join(nativeBuild()!, "sampler.node")) as NativeAddon;
    const { devices: probed, sources } = addon.probe({ timeoutMs: 2000 });
    expect(sources.find(({ name }) => name === "nvml")).toMatchObject({ available: true, reason: null });
    const sampler = startNative(addon, {
      file: path.join(fake.directory, "samples.rec"),
      rootPid: process.pid,
      includeRoot: true,
      hostPeriodNs: 10_000_000,
      devicePeriodNs: 20_000_000,
      cpuBudget: null,
      marker: null,
      probeDirectory: null,
    });
    for (const devices of [probed, sampler.devices]) {
      expect(devices).toHaveLength(2);
      expect(devices[0]).toMatchObject({
        name: "cuda:0",
        backend: "nvml",
        driver: "575.57.08",
        total_bytes: 100_000,
        parent: null,
        unified: false,
        reason: null,
        process_list: { entries: 2, unknown_memory: 1 },
      });
      expect(devices[0]?.capabilities).toEqual(
        expect.arrayContaining(["memory", "memory:v2", "processes", "events", "persistence:off", "accounting:off"]),
      );
      expect(devices[1]).toMatchObject({ pci_bus_id: "0000:3b:00.0", process_list: { entries: 0, unknown_memory: 0 } });
      expect(devices[1]?.capabilities).toEqual(expect.arrayContaining(["persistence:on", "accounting"]));
    }
    await sleep(300);
    expect(sampler.live().deviceUsedBytes).toBe(3000);
    const stats = sampler.stop();
    const nvml = stats.workers?.find(({ name }) => name === "nvml");
    expect(nvml).toMatchObject({ devices: 2, lostRecords: 0, periodNs: 20_000_000 });
    expect(nvml?.ticks).toBeGreaterThan(3);
    expect(nvml?.lists).toBeGreaterThanOrEqual(1);
    expect(nvml?.cpuNs).toBeGreaterThan(0);
    expect(nvml?.cpuNs).toBeLessThan(stats.cpuNs);
    expect(sampler.devices).toHaveLength(2);
  });
});
