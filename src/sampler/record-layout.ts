/**
 * The sampler's record file, version 1: a 64-byte header, then fixed-size records of 48 bytes, little-endian, append-only.
 * Written by `native/` (record_format.h mirrors this file; a test compares the two) and by the plain-TypeScript fallback.
 * A reader takes whole records up to the end of the file, so a file cut anywhere by a crash stays readable.
 *
 * Header
 *   0  8  magic "SLGREC\x01\n"
 *   8  u32 header size (64)        12 u32 record size (48)
 *  16  u64 CLOCK_MONOTONIC ns of time zero
 *  24  i64 Unix epoch ns of the same moment
 *  32  u64 host period ns          40 u64 device period ns
 *  48  i32 root pid                52 u32 page size
 *  56  u64 reserved (0)
 *
 * Record
 *   0  u64 ns since time zero
 *   8  u8 kind ({@link RecordKind})
 *   9  u8 valid bits: bit i set = value i is known; an unknown value is stored as 0 and must be ignored
 *  10  u16 source ({@link RecordSource})
 *  12  i32 id: pid or device index, -1 when neither
 *  16  u64 v0   24 u64 v1   32 u64 v2   40 u64 v3
 */
export const RECORD_MAGIC = "SLGREC\u0001\n";
export const HEADER_BYTES = 64;
export const RECORD_BYTES = 48;

export const RecordKind = {
  /** Per host tick: v0 rss sum, v1 anonymous sum (statm resident - shared), v2 shmem sum (last `status` reading), v3 = processes | lateness µs << 32. */
  tree: 1,
  /** Per process at 10 Hz (and at first sight): v0 VmHWM, v1 RssAnon, v2 RssShmem, v3 RssFile. */
  process: 2,
  /** Per-job cgroup at 10 Hz: v0 current, v1 peak, v2 oom_kill events, v3 anon + shmem of memory.stat. */
  cgroup: 3,
  /** Per device tick: v0 used, v1 total, v2 free, v3 reserved by the driver. */
  device: 4,
  /** Device memory of one process: id = pid, v0 used, v1 = device index. */
  deviceProcess: 5,
  /** id = pid, v0 parent pid, v1 start time in clock ticks since boot. */
  processStart: 6,
  /** id = pid, v0 last VmHWM (valid when known). */
  processExit: 7,
  /** id = pid or device or -1, v0 errno (0 = none), v1 code of the source's own, v2 times seen so far. Repeats are counted, not repeated. */
  error: 8,
  /** The governor or the start-up set the periods: v0 host ns, v1 device ns, v2 CPU ns used so far, v3 missed ticks so far. */
  rate: 9,
  /** Last record of a clean stop: v0 host ticks, v1 missed ticks, v2 host thread CPU ns, v3 device thread CPU ns. */
  stop: 10,
  /** End-of-run `smaps_rollup` of one process: v0 Pss, v1 Rss, v2 anonymous, v3 shared clean + dirty. */
  rollup: 11,
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
} as const;
export type RecordSource = (typeof RecordSource)[keyof typeof RecordSource];
