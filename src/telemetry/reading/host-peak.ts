import { largestOf } from "../recording/common-clock.ts";
import type { KnownPeak, RecordingInfo } from "../recording/model.ts";
import type { CgroupColumns, RecordFile } from "../recording/record-columns.ts";
import type { HeldMemory } from "./held-memory.ts";

/** A cgroup peak counts page cache too: used only where the cache moved by less than this fraction of the peak. */
const CGROUP_OTHER_SPREAD = 0.01;

/** Capability of the cgroup source: the group contains only the measured job. */
export const DEDICATED_CGROUP = "dedicated";

/**
 * A process with one sample may have been read between fork and exec, with the mark of its parent's program.
 * A second sample that is not lower belongs to its own image.
 */
const OWN_IMAGE_READINGS = 2;

interface HostPeak {
  readonly bytes: number;
  readonly kind: KnownPeak["kind"];
  readonly source: string;
}

function cgroupPeak(cgroup: CgroupColumns): number {
  const peak = largestOf(cgroup.peak) ?? Number.NaN;
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < cgroup.timeNs.length; i++) {
    const other = (cgroup.current[i] ?? Number.NaN) - (cgroup.anonShmem[i] ?? Number.NaN);
    if (Number.isNaN(other)) continue;
    least = Math.min(least, other);
    most = Math.max(most, other);
  }
  return most - least <= peak * CGROUP_OTHER_SPREAD ? peak - Math.max(0, least) : Number.NaN;
}

/**
 * The only process's high-water mark minus the file-backed pages at its first sample; NaN unless the run has one
 * process, one program image, and no later tick of the tree above the mark.
 */
function singleProcessPeak(file: RecordFile): number {
  const [process] = file.processes.all;
  if (file.processes.count !== 1 || !process || process.replaced) return Number.NaN;
  if (process.readings < OWN_IMAGE_READINGS) return Number.NaN;
  const { tree } = file;
  for (let i = tree.timeNs.length - 1; i >= 0; i--) {
    if ((tree.processes[i] ?? 0) > 1) return Number.NaN;
    if (tree.timeNs[i]! > process.lastReadingNs && tree.rss[i]! > process.highWater) return Number.NaN;
  }
  return process.highWater - process.fileAtHighWater;
}

/** The highest mark of any one process: a lower bound of the tree's peak. */
function provenByOneProcess(file: RecordFile): number {
  const own = file.processes.all.filter(({ readings }) => readings >= OWN_IMAGE_READINGS);
  return largestOf(own.map(({ highWater, fileLargest }) => highWater - fileLargest)) ?? Number.NaN;
}

function hostPeak(file: RecordFile, held: HeldMemory, info: RecordingInfo | null): HostPeak | null {
  const sampled = largestOf(held.host) ?? Number.NaN;
  // Not Math.max, because a NaN of unknown ticks must not hide a known mark.
  const atLeastSampled = (bytes: number) => (Number.isNaN(sampled) ? bytes : Math.max(sampled, bytes));
  const cgroup = info?.sources.find((source) => source.name.startsWith("cgroup"));
  if (cgroup?.available && cgroup.capabilities.includes(DEDICATED_CGROUP)) {
    const peak = cgroupPeak(file.cgroup);
    if (!Number.isNaN(peak)) return { bytes: atLeastSampled(peak), kind: "exact", source: "cgroup memory.peak" };
  }
  const single = singleProcessPeak(file);
  if (!Number.isNaN(single)) return { bytes: atLeastSampled(single), kind: "exact", source: "VmHWM" };
  const proven = provenByOneProcess(file);
  if (proven > sampled || (!Number.isNaN(proven) && Number.isNaN(sampled))) {
    return { bytes: proven, kind: "sampled", source: "VmHWM" };
  }
  return !Number.isNaN(sampled) ? { bytes: sampled, kind: "sampled", source: "statm" } : null;
}

/**
 * Host peak of a record file. `exact` from the job's own cgroup (by `info`), or for a single process that stayed below
 * its mark after the mark's last sample; else `sampled`: the largest tick or one process's mark. Empty without samples.
 */
export function peaksOf(file: RecordFile, held: HeldMemory, info: RecordingInfo | null = null): KnownPeak[] {
  const peak = hostPeak(file, held, info);
  if (!peak) return [];
  return [{ rank: info?.identity.rank ?? 0, device: "host", metric: "host", ...peak }];
}
