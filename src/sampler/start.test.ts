import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { GateError } from "../core/errors.ts";
import type { SamplerOptions } from "./sampler.ts";
import { detectSampler, startSampler } from "./start.ts";

let directory: string;
beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
});
afterEach(() => {
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

describe("the sampler", () => {
  it("the sampler measures this very process and shows it live", async () => {
    const sampler = await startSampler(options());
    const times = new Set<number>();
    await vi.waitFor(() => expect(times.add(sampler.live().timeNs).size).toBeGreaterThan(16), {
      interval: 5,
      timeout: 20_000,
    });
    const view = sampler.live();
    const rss = process.memoryUsage().rss;
    expect(sampler.kind).toBe("native");
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

  it("the sampler reports both clocks of its time zero", async () => {
    const before = process.hrtime.bigint();
    const sampler = await startSampler(options());
    sampler.stop();
    expect(sampler.monotonicStartNs).toBeGreaterThanOrEqual(before);
    expect(sampler.monotonicStartNs).toBeLessThan(before + 1_000_000_000n);
    expect(Math.abs(Number(sampler.epochNs / 1_000_000n) - Date.now())).toBeLessThan(2000);
  });

  it("the sampler names the file that it cannot make", async () => {
    expect(await codeOf(() => startSampler(options({ file: path.join(directory, "no", "samples.rec") })))).toBe(
      "RECORD_FILE_UNWRITABLE",
    );
    (await startSampler(options())).stop();
    expect(await codeOf(() => startSampler(options()))).toBe("RECORD_FILE_UNWRITABLE");
  });

  it("the sampler refuses periods outside 0.5 ms to 1 s", async () => {
    for (const hostPeriodNs of [0, 499_999, 1e9 + 1, Number.NaN]) {
      expect(await codeOf(() => startSampler(options({ hostPeriodNs })))).toBe("SAMPLER_PERIOD_INVALID");
    }
  });

  it("the sampler lists what can be read here", async () => {
    const support = await detectSampler();
    expect(support.kind).toBe("native");
    expect(support.sources.find(({ name }) => name === "host")?.available).toBe(true);
    for (const { available, reason } of support.sources) if (!available) expect(reason).toMatch(/\w/);
  });
});
