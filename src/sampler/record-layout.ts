/**
 * The sampler's record file, version 1: a 64-byte header, then fixed-size records of 48 bytes, little-endian,
 * append-only. Written by `native/` (record_format.h mirrors this file; a test compares the two) and by the sampler
 * that reads `ps`. A reader takes whole records up to the end of the file, so a file cut anywhere by a crash
 * stays readable.
 *
 * Header
 *   0  8  magic "SLGREC\x01\n"
 *   8  u32 header size (64)        12 u32 record size (48)
 *  16  u64 CLOCK_MONOTONIC ns of time zero
 *  24  i64 Unix epoch ns of time zero
 *  32  u64 host period ns          40 u64 device period ns
 *  48  i32 root pid                52 u32 page size
 *  56  u64 reserved (0)
 *
 * Record
 *   0  u64 ns since time zero
 *   8  u8 kind ({@link RecordKind})
 *   9  u8 valid bits: bit i (0 to 3) set = value i is known; an unknown value is stored as 0 and must be ignored.
 *      Bits 4 to 7 of an allocator record: why it was taken ({@link SampleReason})
 *  10  u16 source ({@link RecordSource})
 *  12  i32 id: pid or device index; -1 when neither, or as the kind says
 *  16  u64 v0   24 u64 v1   32 u64 v2   40 u64 v3
 */
export const RECORD_MAGIC = "SLGREC\u0001\n";
export const HEADER_BYTES = 64;
export const RECORD_BYTES = 48;

export const RecordKind = {
  /**
   * Per host tick: v0 rss, v1 anonymous (statm resident - shared), v2 shmem, v3 = processes | lateness µs << 32. In a
   * long run, id = ticks since the previous row, if there are several.
   */
  tree: 1,
  /** Per process at 10 Hz (and at first sight): v0 VmHWM, v1 RssAnon, v2 RssShmem, v3 RssFile. */
  process: 2,
  /** Per-job cgroup at 10 Hz: v0 current, v1 peak, v2 oom_kill events, v3 anon + shmem of memory.stat. */
  cgroup: 3,
  /** Per device tick: v0 used, v1 total, v2 free, v3 reserved by the driver. */
  device: 4,
  /**
   * Device memory of one process, from a process list: id = pid as the driver gives it, v0 used (invalid = unknown to
   * the driver), v1 device index, v2 owner (1 = of the measured job, 0 = not; invalid = unknown), v3 = compute 1 |
   * graphics 2 | MPS 4.
   */
  deviceProcess: 5,
  /** id = pid, v0 parent pid, v1 start time in clock ticks since boot, v2 pid outside of the job's own namespace. */
  processStart: 6,
  /** id = pid, v0 last VmHWM (valid when known). */
  processExit: 7,
  /** id = pid or device or -1, v0 errno (0 = none), v1 code of the source, v2 times seen so far (not repeated). */
  error: 8,
  /** Periods set by governor or start-up: v0 host ns, v1 device ns, v2 CPU ns so far, v3 missed ticks so far. */
  rate: 9,
  /** Last record of a clean stop: v0 host ticks, v1 missed ticks, v2 host thread CPU ns, v3 device thread CPU ns. */
  stop: 10,
  /** Of earlier releases, not read: `smaps_rollup` of one process at the end of a run. */
  rollup: 11,
  /** A reading by the probe in a measured process: id = stream, v0 allocated, v1 reserved, v2 active, v3 step. */
  allocator: 12,
  /** Changed allocator counters: id = stream, v0 allocated peak, v1 reserved peak, v2 retries, v3 OOM errors. */
  allocatorPeaks: 13,
  /**
   * One device of one process, before its first sample and after a change: id = stream, v0 pid, v1 {@link
   * AllocatorKind}, v2 device index, v3 = rank + 1 | (world size + 1) << 16 | role << 32 | flags << 40 (0 = unknown).
   */
  stream: 14,
  /** id = pid or -1 (the step file), v0 the step that is now current. */
  step: 15,
  /** The driver's high-water mark of one process: id = pid, v0 bytes, v1 device index, v2 = 1 after its end. */
  deviceProcessPeak: 16,
  /** Device event: id = device index, v0 {@link DeviceEvent}, v1 code (Xid, errno, …), v2 GPU, v3 compute instance. */
  deviceEvent: 17,
  /**
   * A process list was read to its end: id = device index, v0 entries, v1 duration of the call in ns, v2 entries with
   * unknown memory. Comes after the entries of the same time. A device without a list of that time was not read.
   */
  deviceList: 18,
  /**
   * What the job holds, each shared page counted once, at a low rate: v0 anonymous and shared memory, swap and huge
   * pages (invalid = not of every process), v1 mapped shared memory, v2 shared memory and tmpfs that the job's own
   * cgroup is charged for, v3 = processes read | not read << 32; id = how long the reading took, µs (-1 = unknown).
   */
  hostShared: 19,
  /** Of the process tree, at 10 Hz: v0 open descriptors, v1 threads (each invalid = not known of every process). */
  counts: 20,
} as const;
export type RecordKind = (typeof RecordKind)[keyof typeof RecordKind];

export const RecordSource = {
  none: 0,
  statm: 1,
  status: 2,
  tree: 3,
  cgroup2: 4,
  cgroup1: 5,
  nvml: 6,
  file: 7,
  fallback: 8,
  probe: 9,
  amd: 10,
  kfd: 11,
  fdinfo: 12,
  apple: 14,
  rollup: 15,
} as const;
export type RecordSource = (typeof RecordSource)[keyof typeof RecordSource];

/** Kind of a device's event (v0). */
export const DeviceEvent = {
  xid: 1,
  doubleBitEcc: 2,
  unavailable: 3,
  rowRemap: 4,
  /** `total` differs from the start: v1 the new one. */
  capacityChanged: 5,
  /** The number of devices differs from the start: v1 the new one. */
  countChanged: 6,
  /** A call has not returned for v1 ns. */
  stalled: 7,
  /** A stalled or failing device answers again. */
  recovered: 8,
} as const;
export type DeviceEvent = (typeof DeviceEvent)[keyof typeof DeviceEvent];

/** The allocator of a probe's stream; the numbers of the ring file. */
export const AllocatorKind = {
  hostHeap: 1,
  cuda: 2,
  mps: 3,
  xpu: 4,
  tensorflow: 5,
  jax: 6,
} as const;
export type AllocatorKind = (typeof AllocatorKind)[keyof typeof AllocatorKind];

/** Device index of a `hostHeap` stream: whose heap it is. */
export const HostHeapIndex = { c: 0, python: 1, v8: 2, jvm: 3 } as const;

/** Why a probe took a sample. */
export const SampleReason = { timer: 1, step: 2, oom: 3, end: 4, explicit: 5 } as const;
export type SampleReason = (typeof SampleReason)[keyof typeof SampleReason];

/** Role of a process in its job. */
export const ProcessRole = { plain: 0, rank: 1, agent: 2, child: 3 } as const;
export type ProcessRole = (typeof ProcessRole)[keyof typeof ProcessRole];

/** Flags of a probe's ring, as stream records carry them. */
export const ProbeFlag = {
  heapReadable: 1,
  frameworkImported: 2,
  deviceInitialised: 4,
  stepsSeen: 8,
  peaksReset: 16,
  attributing: 32,
} as const;

/** Codes of error records whose source is the probe; `native/sources/probe/probe_source.h` has the same. */
export const ProbeTrouble = {
  recordsLost: 1,
  notARing: 2,
  ringTruncated: 3,
  tooManyFiles: 4,
  tooManyDevices: 5,
  recordImpossible: 6,
  stepUnreadable: 7,
  directoryTooLarge: 8,
  fileUnreadable: 9,
} as const;
export type ProbeTrouble = (typeof ProbeTrouble)[keyof typeof ProbeTrouble];

/** What the header of a file says. */
export interface RecordFileHeader {
  readonly monotonicStartNs: bigint;
  readonly epochNs: bigint;
  readonly hostPeriodNs: number;
  readonly devicePeriodNs: number;
  readonly rootPid: number;
  readonly pageSize: number;
}
