/** One thing that can be read here, or not, with the reason when not. */
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
}

export interface SamplerOptions {
  /** Record file to create (must not exist). */
  readonly file: string;
  /** Pid whose descendants are measured. */
  readonly rootPid: number;
  /** False when the root is our launcher, which is not part of the job. */
  readonly includeRoot: boolean;
  /** 500 µs to 1 s. */
  readonly hostPeriodNs: number;
  readonly devicePeriodNs: number;
  /** Fraction of one core (0.01 = 1 %), or null for no governor. */
  readonly cpuBudget: number | null;
  /** Process-tree marker `NAME=value` found in /proc/<pid>/environ of every descendant. */
  readonly marker: string | null;
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

export interface SamplerStats {
  readonly ticks: number;
  readonly missedTicks: number;
  readonly deviceTicks: number;
  readonly durationNs: number;
  readonly hostPeriodNs: number;
  readonly devicePeriodNs: number;
  /** CPU time of the sampler's own threads. */
  readonly cpuNs: number;
  /** Why writing stopped early (disk full, …), or null. */
  readonly writeError: string | null;
}

/** A running sampler. `stop` flushes and closes the record file; calling it twice returns the same statistics. */
export interface Sampler {
  readonly kind: "native" | "fallback";
  /** Why the native sampler is not used; null when it is. */
  readonly reason: string | null;
  readonly sources: readonly SourceReport[];
  readonly devices: readonly DeviceReport[];
  /** CLOCK_MONOTONIC and Unix nanoseconds of time zero. */
  readonly monotonicStartNs: bigint;
  readonly epochNs: bigint;
  live(): LiveView;
  stop(): SamplerStats;
}
