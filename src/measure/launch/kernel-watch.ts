import { closeSync, constants, openSync, readSync } from "node:fs";
import { codeOf } from "../../core/errors.ts";
import { type KernelFacts, NO_KERNEL_FACTS, victimsIn } from "../../telemetry/oom/kernel.ts";
import { DEDICATED_CGROUP } from "../../telemetry/reading/host-peak.ts";
import { kernelKills } from "../../telemetry/reading/record-recording.ts";
import type { RecordingInfo } from "../../telemetry/recording/model.ts";
import type { RecordFile } from "../../telemetry/recording/record-columns.ts";
import { machineKillsNow } from "./machine-kills.ts";

/** Records read of the kernel's log; its ring holds some thousands. */
const MAX_RECORDS = 100_000;

/** The kernel's log, one record each; empty where it may not be read (most containers). */
function kernelLog(): string[] {
  let descriptor: number;
  try {
    descriptor = openSync("/dev/kmsg", constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return [];
  }
  const records: string[] = [];
  // A record of the kernel's log is at most this long; a shorter buffer makes the read fail.
  const bytes = Buffer.alloc(8192);
  try {
    while (records.length < MAX_RECORDS) {
      try {
        const size = readSync(descriptor, bytes, 0, bytes.length, null);
        if (size === 0) break;
        records.push(bytes.toString("utf8", 0, size));
      } catch (error) {
        // The record at hand was overwritten meanwhile: the next read goes on behind it.
        if (codeOf(error) === "EPIPE") continue;
        break;
      }
    }
  } finally {
    closeSync(descriptor);
  }
  return records;
}

/** Processes that were the job's, by what the sampler saw of them. */
function jobPids(file: RecordFile | null, info: RecordingInfo): ReadonlySet<number> {
  const pids = new Set(file?.processes.all.map(({ pid }) => pid));
  if (info.identity.pid > 0) pids.add(info.identity.pid);
  return pids;
}

/**
 * Evidence of kills by the kernel between the run's start and now. Its log is read only after a SIGKILL, or when a
 * counter rose.
 * @param before {@link machineKillsNow} from before the command began
 */
export function kernelFacts(info: RecordingInfo, file: RecordFile | null, before: number | null): KernelFacts {
  const now = machineKillsNow();
  const machineKills = before === null || now === null ? null : Math.max(0, now - before);
  const rises = file === null ? [] : kernelKills(file.cgroup);
  const [first] = rises;
  const source = info.sources.find(({ name }) => name.startsWith("cgroup"));
  const group =
    first === undefined
      ? null
      : {
          kills: rises.reduce((sum, { count }) => sum + count, 0),
          timeNs: first.timeNs,
          dedicated: source?.capabilities.includes(DEDICATED_CGROUP) ?? false,
        };
  if (machineKills === 0 && group === null) return { ...NO_KERNEL_FACTS, machineKills };
  const startNs = BigInt(info.clock.monotonic_start_ns);
  const pids = jobPids(file, info);
  const victims = victimsIn(kernelLog()).filter(
    // The log's clock and CLOCK_MONOTONIC may lie a little apart.
    ({ pid, monotonicNs }) => pids.has(pid) && monotonicNs >= startNs - 100_000_000n,
  );
  return { group, machineKills, victims };
}
