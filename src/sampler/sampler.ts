import type { BigIntStats } from "node:fs";

/** A source, whether it can be read here, and the reason when it cannot. */
export interface SourceReport {
  /** "host", "cgroup", "nvml", … */
  readonly name: string;
  readonly available: boolean;
  readonly reason: string | null;
  readonly capabilities: readonly string[];
}

/** A device a source can read; `index` is the `id` of its device records. */
export interface DeviceReport {
  readonly index: number;
  /** "cuda:0", … */
  readonly name: string;
  readonly model: string | null;
  readonly uuid: string | null;
  readonly total_bytes: number | null;
  readonly driver: string | null;
  readonly backend?: DeviceBackend;
  readonly pci_bus_id?: string | null;
  /** Of a MIG device: the index of its GPU. */
  readonly parent?: number | null;
  readonly mig_profile?: string | null;
  /** It shares its memory with the CPU. */
  readonly unified?: boolean;
  readonly capabilities?: readonly string[];
  /** What cannot be read of it, and why. */
  readonly reason?: string | null;
  /** What the first process list showed; null when no list could be read. */
  readonly process_list?: ProcessListReport | null;
}

interface ProcessListReport {
  readonly entries: number;
  /** Entries without their memory. */
  readonly unknown_memory: number;
}

export const DEVICE_BACKENDS = ["nvml", "amd", "intel", "apple"] as const;
export type DeviceBackend = (typeof DEVICE_BACKENDS)[number];

export interface SamplerOptions {
  /** Record file to create (must not exist). */
  readonly file: string;
  /** Pid whose descendants are measured. */
  readonly rootPid: number;
  /** False when the root is the launcher, which is not part of the job. */
  readonly includeRoot: boolean;
  /** 500 µs to 1 s. */
  readonly hostPeriodNs: number;
  readonly devicePeriodNs: number;
  /** Fraction of one core (0.01 = 1 %), or null for no governor. */
  readonly cpuBudget: number | null;
  /** Process-tree marker `NAME=value` found in /proc/<pid>/environ of every descendant. */
  readonly marker: string | null;
  /** Programs that are not measured, with all that they start; one a line. Default none. */
  readonly ignore?: string;
  /** Directory of the step file and of the rings of probes inside the measured processes; null = none. */
  readonly probeDirectory: string | null;
}

/** The latest values, for progress; polled at most ten times a second. */
export interface LiveView {
  readonly timeNs: number;
  readonly rssBytes: number | null;
  /** Anonymous + shared-memory pages of the tree. */
  readonly hostBytes: number | null;
  readonly peakHostBytes: number | null;
  readonly processes: number;
  readonly deviceUsedBytes: number | null;
}

/** Statistics of the thread of one vendor's devices. */
interface DeviceWorkerStats {
  /** Name of its source report. */
  readonly name: string;
  readonly devices: number;
  readonly ticks: number;
  readonly missedTicks: number;
  /** Rounds of process lists. */
  readonly lists: number;
  /** The period at the end: longer than requested where the CPU budget or the number of devices required it. */
  readonly periodNs: number;
  readonly cpuNs: number;
  /** Records dropped from a full queue. */
  readonly lostRecords: number;
}

export interface SamplerStats {
  readonly ticks: number;
  readonly missedTicks: number;
  /** Of the slowest vendor that has devices, as is the period. */
  readonly deviceTicks: number;
  readonly durationNs: number;
  readonly hostPeriodNs: number;
  readonly devicePeriodNs: number;
  /** CPU time of the sampler's own threads. */
  readonly cpuNs: number;
  /** Why writing stopped early (disk full, …), or null. */
  readonly writeError: string | null;
  /** Of the vendors that have devices; absent where devices are not read. */
  readonly workers?: readonly DeviceWorkerStats[];
}

/** What became of the record file between writing and reading it back. */
export interface RecordsCheck {
  /** Every byte was read as it was written. */
  readonly intact: boolean;
  /** Bytes that were written. */
  readonly written: number;
  /** The file that was written, wherever it is now; null when that is unknown. */
  readonly file: BigIntStats | null;
}

/** A running sampler. `stop` flushes the record file; calling it twice returns the same statistics. */
export interface Sampler {
  readonly kind: "native" | "fallback";
  /** Why the native sampler is not used; null when it is. */
  readonly reason: string | null;
  /** The sources known so far. A driver that answers late is added late. */
  readonly sources: readonly SourceReport[];
  readonly devices: readonly DeviceReport[];
  /** CLOCK_MONOTONIC and Unix nanoseconds of time zero. */
  readonly monotonicStartNs: bigint;
  readonly epochNs: bigint;
  live(): LiveView;
  stop(): SamplerStats;
  /**
   * Fills the array with the next recorded bytes, read after `stop` through the descriptor that wrote them: the
   * measured command can put another file at the path. Returns their number, 0 at the end.
   */
  readRecords(into: Uint8Array): number;
  /** Compares what was read with what was written. */
  checkRecords(): RecordsCheck;
  /** Closes the record file. */
  closeRecords(): void;
}

/** The vendor of a device, derived from its name for samplers that do not report it. */
export function vendorOf({ backend, name }: DeviceReport): DeviceBackend {
  if (backend !== undefined) return backend;
  if (name.startsWith("mps:")) return "apple";
  if (name.startsWith("xpu:")) return "intel";
  return name.startsWith("amd:") ? "amd" : "nvml";
}
