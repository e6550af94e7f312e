import { createRequire } from "node:module";
import { findPrebuild } from "../../src/sampler/prebuild.ts";

/** The functions of the native addon that the benchmark calls directly, below the product's loader and policies. */
export interface Addon {
  start(options: {
    file: string;
    rootPid: number;
    includeRoot: boolean;
    hostPeriodNs: number;
    devicePeriodNs: number;
    cpuBudget: number | null;
    marker: string | null;
    nvmlPath?: string | null;
  }): number;
  live(handle: number): Float64Array;
  stop(handle: number): {
    ticks: number;
    missedTicks: number;
    cpuNs: number;
    durationNs: number;
    workers: readonly {
      name: string;
      devices: number;
      ticks: number;
      cpuNs: number;
      lists: number;
      periodNs: number;
    }[];
  };
  emptyLoop(periodNs: number, durationNs: number): { ticks: number; cpuNs: number };
}

/** Index of the process count in the result of `live`. */
export const LIVE_PROCESSES = 4;

export function loadAddon(): Addon {
  const prebuild = findPrebuild();
  if ("reason" in prebuild) throw new Error(prebuild.reason);
  return createRequire(import.meta.url)(prebuild.addon) as Addon;
}
