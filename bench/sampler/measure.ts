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

/** CPU microseconds per tick. */
export type CostUs = number;

/** CPU of the sampler per tick over the children of `tree`, governor off. */
export async function samplerCost(addon: Addon, tree: ProcessTree, seconds: number): Promise<CostUs> {
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
    await delay(seconds * 1000);
    const seen = addon.live(handle)[LIVE_PROCESSES];
    const stats = addon.stop(handle);
    if (seen !== tree.pids.length) throw new Error(`the sampler saw ${seen} of ${tree.pids.length} processes`);
    return stats.cpuNs / stats.ticks / 1e3;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** CPU per tick of a thread that only wakes. */
export function emptyLoopCost(addon: Addon, seconds: number, periodNs = PERIOD_NS): CostUs {
  const loop = addon.emptyLoop(periodNs, seconds * 1e9);
  return loop.cpuNs / loop.ticks / 1e3;
}

/** CPU per tick of the psutil loop; null when this machine's Python has no psutil. */
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
