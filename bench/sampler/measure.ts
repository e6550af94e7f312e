import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { packageRoot } from "../../src/core/package-root.ts";
import { type Addon, LIVE_PROCESSES } from "./addon.ts";
import type { ProcessTree } from "./tree.ts";

export const PERIOD_NS = 1_000_000;
/** A device period so long that the absent or idle device thread costs nothing. */
const IDLE_DEVICE_NS = 1_000_000_000;
/** How long a run lasts that shows what the start of sampling costs. */
const START_SECONDS = 0.25;

/** CPU microseconds per period. */
export type CostUs = number;

interface SamplerRun {
  readonly cpuNs: number;
  readonly durationNs: number;
}

/** Samples the children of `tree`, governor off. @param during called once the sampler runs */
export async function sampled(
  addon: Addon,
  tree: ProcessTree,
  seconds: number,
  during: () => Promise<void> = async () => {},
): Promise<SamplerRun> {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-bench-"));
  try {
    const handle = addon.start({
      file: path.join(directory, "samples.slg"),
      rootPid: tree.rootPid,
      includeRoot: false,
      hostPeriodNs: PERIOD_NS,
      devicePeriodNs: IDLE_DEVICE_NS,
      cpuBudget: null,
      marker: null,
    });
    await Promise.all([delay(seconds * 1000), during()]);
    const seen = addon.live(handle)[LIVE_PROCESSES];
    const stats = addon.stop(handle);
    if (seen !== tree.pids.length) throw new Error(`the sampler saw ${seen} of ${tree.pids.length} processes`);
    return stats;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/**
 * CPU of the sampler per period over the children of `tree`. What it takes to start (libraries of devices are looked
 * for, every file is opened) is the cost of a run, not of a sample: a short run is subtracted.
 */
export async function samplerCost(addon: Addon, tree: ProcessTree, seconds: number): Promise<CostUs> {
  const short = await sampled(addon, tree, START_SECONDS);
  const long = await sampled(addon, tree, START_SECONDS + seconds);
  return ((long.cpuNs - short.cpuNs) / (long.durationNs - short.durationNs)) * (PERIOD_NS / 1e3);
}

/** CPU per period of a thread that only wakes. */
export function emptyLoopCost(addon: Addon, seconds: number, periodNs = PERIOD_NS): CostUs {
  const loop = addon.emptyLoop(periodNs, seconds * 1e9);
  return loop.cpuNs / (seconds * (1e9 / periodNs)) / 1e3;
}

/** CPU per period of the psutil loop; null when this machine's Python has no psutil. */
export function psutilCost(tree: ProcessTree, seconds: number): CostUs | null {
  const script = path.join(packageRoot(), "bench", "sampler", "psutil_loop.py");
  const run = spawnSync(
    "/usr/bin/python3",
    [script, String(PERIOD_NS / 1e9), String(seconds), ...tree.pids.map(String)],
    {
      encoding: "utf8",
    },
  );
  if (run.status !== 0) return null;
  const { ticks, cpu_s } = JSON.parse(run.stdout) as { ticks: number; cpu_s: number };
  return (cpu_s / ticks) * 1e6;
}
