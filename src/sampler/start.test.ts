import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { GateError } from "../core/errors.ts";
import { findPrebuild } from "./prebuild.ts";
import type { SamplerOptions } from "./sampler.ts";
import { probeSources, startSampler } from "./start.ts";

const kinds = "reason" in findPrebuild() ? ["fallback"] : ["native", "fallback"];

let directory: string;
beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true });
});

const options = (more: Partial<SamplerOptions> = {}): SamplerOptions => ({
  file: path.join(directory, "samples.rec"),
  rootPid: process.pid,
  includeRoot: true,
  hostPeriodNs: 10_000_000,
  devicePeriodNs: 100_000_000,
  cpuBudget: null,
  marker: null,
  probeDirectory: null,
  ...more,
});

async function codeOf(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    return error instanceof GateError ? error.code : String(error);
  }
  return "no error";
}

describe.each(kinds)("the %s sampler", (kind) => {
  beforeEach(() => void vi.stubEnv("STORMLOG_GATE_SAMPLER", kind));

  it("measures this very process and shows it live", async () => {
    const sampler = await startSampler(options());
    const times = new Set<number>();
    await vi.waitFor(() => expect(times.add(sampler.live().timeNs).size).toBeGreaterThan(16), {
      interval: 5,
      timeout: 20_000,
    });
    const view = sampler.live();
    const rss = process.memoryUsage().rss;
    expect(sampler.kind).toBe(kind);
    expect(view.rssBytes! / rss).toBeGreaterThan(0.7);
    expect(view.rssBytes! / rss).toBeLessThan(1.3);
    expect(view.hostBytes).toBeLessThanOrEqual(view.rssBytes!);
    expect(view.peakHostBytes).toBeGreaterThanOrEqual(view.hostBytes!);
    expect(view.deviceUsedBytes).toBeNull();
    const stats = sampler.stop();
    expect(stats.ticks).toBeGreaterThan(15);
    expect(stats.writeError).toBeNull();
    expect(sampler.stop()).toEqual(stats);
    expect(sampler.live().processes).toBeGreaterThanOrEqual(1);
  });

  it("reports both clocks of its time zero", async () => {
    const before = process.hrtime.bigint();
    const sampler = await startSampler(options());
    sampler.stop();
    expect(sampler.monotonicStartNs).toBeGreaterThanOrEqual(before);
    expect(sampler.monotonicStartNs).toBeLessThan(before + 1_000_000_000n);
    expect(Math.abs(Number(sampler.epochNs / 1_000_000n) - Date.now())).toBeLessThan(2000);
  });

  it("names the file that it cannot make", async () => {
    expect(await codeOf(() => startSampler(options({ file: path.join(directory, "no", "samples.rec") })))).toBe(
      "RECORD_FILE_UNWRITABLE",
    );
    (await startSampler(options())).stop();
    expect(await codeOf(() => startSampler(options()))).toBe("RECORD_FILE_UNWRITABLE");
  });

  it("refuses periods outside 0.5 ms to 1 s", async () => {
    for (const hostPeriodNs of [0, 499_999, 1e9 + 1, Number.NaN]) {
      expect(await codeOf(() => startSampler(options({ hostPeriodNs })))).toBe("SAMPLER_PERIOD_INVALID");
    }
  });

  it("lists what can be read here", async () => {
    const probe = await probeSources();
    expect(probe.kind).toBe(kind);
    expect(probe.sources.find(({ name }) => name === "host")?.available).toBe(true);
    for (const { available, reason } of probe.sources) if (!available) expect(reason).toMatch(/\w/);
  });
});

describe("choosing a sampler", () => {
  it("reports the limits of the fallback in one line", async () => {
    vi.stubEnv("STORMLOG_GATE_SAMPLER", "fallback");
    const sampler = await startSampler(options());
    sampler.stop();
    expect(sampler.reason).toMatch(
      /samples are late while the gate itself is busy, and devices and cgroups are not read$/,
    );
    expect(sampler.reason).not.toContain("\n");
  });

  it("refuses a name it does not know", async () => {
    vi.stubEnv("STORMLOG_GATE_SAMPLER", "best");
    expect(await codeOf(() => startSampler(options()))).toBe("SAMPLER_UNKNOWN");
  });
});
