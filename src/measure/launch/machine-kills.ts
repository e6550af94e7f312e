import { readFileSync } from "node:fs";
import { machineOomKills } from "../../telemetry/oom/kernel.ts";

/** Kills of this machine's kernel so far; null where it does not count them. */
export function machineKillsNow(): number | null {
  try {
    return machineOomKills(readFileSync("/proc/vmstat", "latin1"));
  } catch {
    return null;
  }
}
