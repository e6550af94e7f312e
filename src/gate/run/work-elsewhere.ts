import { formatBytes, MIB } from "../../core/units.ts";
import type { RecordingInfo } from "../../telemetry/recording/model.ts";

/**
 * A command below all of these hardly works itself. Clients that waited six seconds for an answer held 1 MiB (ssh), 5
 * (docker) and 12 MiB (kubectl), and used up to 0.05 s; the limits leave them five times as much and more.
 */
const HARDLY_WORKS = { bytes: 64 * MIB, cpuS: 0.5, cpuShare: 0.05 } as const;
/** Shorter commands are as idle while they start. */
const MIN_DURATION_S = 2;

/** What to say of a command that waits for a daemon, a container or another machine; null for others. */
export function workElsewhere({
  cpu_s: cpuS,
  clock: { duration_s: durationS },
  peaks,
}: Pick<RecordingInfo, "cpu_s" | "clock" | "peaks">): string | null {
  const held = peaks.find(({ device, metric }) => device === "host" && metric === "host")?.bytes;
  if (cpuS === undefined || held === undefined || durationS === null || durationS < MIN_DURATION_S) return null;
  const { bytes, cpuS: most, cpuShare } = HARDLY_WORKS;
  if (held > bytes || cpuS > most || cpuS > cpuShare * durationS) return null;
  const used = cpuS < 0.05 ? "under 0.1" : cpuS.toFixed(1);
  return `${formatBytes(held)} and ${used} s of processor time here: the work may be in another process`;
}
