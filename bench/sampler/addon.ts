import { createRequire } from "node:module";
import path from "node:path";
import { packageRoot } from "../../src/core/package-root.ts";

/** The part of the native addon the benchmark drives directly, below the product's own loader and policies. */
export interface Addon {
  start(options: {
    file: string;
    rootPid: number;
    includeRoot: boolean;
    hostPeriodNs: number;
    devicePeriodNs: number;
    cpuBudget: number | null;
    marker: string | null;
  }): number;
  live(handle: number): Float64Array;
  stop(handle: number): { ticks: number; missedTicks: number; cpuNs: number; durationNs: number };
  emptyLoop(periodNs: number, durationNs: number): { ticks: number; cpuNs: number };
}

/** Place of the process count in what `live` returns. */
export const LIVE_PROCESSES = 4;

export function loadAddon(): Addon {
  const file = path.join(packageRoot(), "dist", "prebuilds", `${process.platform}-${process.arch}`, "sampler.node");
  return createRequire(import.meta.url)(file) as Addon;
}
