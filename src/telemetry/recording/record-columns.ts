import type { RecordFileHeader } from "../../sampler/record-layout.ts";
import type { ProcessHistory } from "./process-history.ts";
import type { RecordedStream, StepColumns } from "./recorded-streams.ts";

/** Host ticks: sums over the process tree, bytes; NaN = unknown. */
export interface TreeColumns {
  readonly timeNs: Float64Array;
  readonly rss: Float64Array;
  readonly anon: Float64Array;
  readonly shmem: Float64Array;
  /** That of the process that has most of it, as last read. */
  readonly shmemMost: Float64Array;
  readonly processes: Float64Array;
  /** Ticks that the row stands for: more than 1 where the sampler thinned a long run. */
  readonly ticks: Float64Array;
}

/** Samples of the job's memory cgroup, bytes; `oomKills` is a counter. */
export interface CgroupColumns {
  readonly timeNs: Float64Array;
  readonly current: Float64Array;
  readonly peak: Float64Array;
  readonly oomKills: Float64Array;
  readonly anonShmem: Float64Array;
}

/** Readings of what the job holds, each shared page counted once, with swap and huge pages; bytes, NaN = unknown. */
export interface SharedColumns {
  /** When the reading began. */
  readonly timeNs: Float64Array;
  /** How long it took; NaN in records of earlier releases. */
  readonly tookNs: Float64Array;
  readonly once: Float64Array;
  /** Mapped shared memory. */
  readonly mapped: Float64Array;
  /** Shared memory and tmpfs files charged to the job's own cgroup. */
  readonly charged: Float64Array;
  /** Processes that were read, and that could not be. */
  readonly read: Float64Array;
  readonly unread: Float64Array;
}

/** Numbers of open descriptors and of threads of the process tree; NaN = not known of every process. */
interface CountColumns {
  readonly timeNs: Float64Array;
  readonly descriptors: Float64Array;
  readonly threads: Float64Array;
}

/** Ticks of one device, bytes. */
export interface DeviceColumns {
  readonly index: number;
  readonly timeNs: Float64Array;
  readonly used: Float64Array;
  readonly total: Float64Array;
  readonly free: Float64Array;
  readonly driver: Float64Array;
}

/** Complete process lists of a device. List `i` has the entries `ends[i - 1]` (0 for the first) up to `ends[i]`. */
export interface DeviceLists {
  readonly index: number;
  readonly timeNs: Float64Array;
  readonly ends: Float64Array;
  /** Pids in the driver's numbering; -1 = the whole job, from a source without processes. */
  readonly pids: Float64Array;
  /** NaN = not reported by the driver. */
  readonly bytes: Float64Array;
  /** 1 = the measured job's, 0 = not, NaN = unknown. */
  readonly owners: Float64Array;
}

/** The driver's own high-water mark of one process on one device. */
export interface DeviceProcessPeak {
  readonly index: number;
  /** -1 = the whole job. */
  readonly pid: number;
  readonly source: number;
  readonly bytes: number;
  /** Read after the process ended, so nothing can be above it. */
  readonly ended: boolean;
}

/** An event of a device; `index` -1 = of all devices of its driver. */
export interface RecordedDeviceEvent {
  readonly timeNs: number;
  readonly index: number;
  readonly source: number;
  /** A `DeviceEvent`, or a number of a later release. */
  readonly kind: number;
  readonly code: number | null;
}

/** A failed read: `errno` 0 when the source gave none, `seen` the number of failures by then. */
export interface RecordedError {
  readonly timeNs: number;
  readonly source: number;
  readonly id: number;
  readonly errno: number;
  readonly detail: number;
  readonly seen: number;
}

/** The sampling periods from a time on. */
export interface RecordedRate {
  readonly timeNs: number;
  readonly hostPeriodNs: number;
  readonly devicePeriodNs: number;
}

/** Totals written by a clean stop. */
export interface RecordedStop {
  readonly timeNs: number;
  readonly ticks: number;
  readonly missedTicks: number;
  readonly hostCpuNs: number;
  readonly deviceCpuNs: number;
}

/** A whole record file in typed columns. Unknown values are NaN. */
export interface RecordFile {
  readonly header: RecordFileHeader;
  readonly tree: TreeColumns;
  readonly cgroup: CgroupColumns;
  readonly shared: SharedColumns;
  readonly counts: CountColumns;
  readonly devices: readonly DeviceColumns[];
  readonly lists: readonly DeviceLists[];
  readonly processPeaks: readonly DeviceProcessPeak[];
  readonly deviceEvents: readonly RecordedDeviceEvent[];
  readonly processes: ProcessHistory;
  /** Samples of the probes in the measured processes: one entry per process and device. */
  readonly streams: readonly RecordedStream[];
  /** The pools of the streams' allocators, by the same indices. */
  readonly pools: readonly RecordedStream[];
  /** Steps without a sample of memory, one entry per process; pid -1 is the step file. */
  readonly steps: readonly StepColumns[];
  readonly errors: readonly RecordedError[];
  readonly rates: readonly RecordedRate[];
  readonly stop: RecordedStop | null;
  /** Time of the last record, nanoseconds since time zero; 0 when there is none. */
  readonly lastNs: number;
  readonly records: number;
  /** Records of an unknown kind or with an impossible time, skipped. */
  readonly skippedRecords: number;
  /** Bytes after the last whole record: the file was truncated within a record. */
  readonly cutBytes: number;
}
