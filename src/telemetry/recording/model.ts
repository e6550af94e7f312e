import { oneLine } from "../../core/text.ts";
import type { SourceReport } from "../../sampler/sampler.ts";
import { isMetric, METRICS, type Metric } from "./metrics.ts";
import type { OutOfMemory } from "./out-of-memory.ts";
import type { DeviceHealth, RecordedDevice } from "./recorded-device.ts";

/** Recorded memory from any source, in typed arrays, so that tens of millions of samples stay cheap. */

/** Ranks above are errors of the source: the largest jobs have a tenth of this. */
export const MAX_RANK = 1_000_000;

export const ofKnownMetric = <T extends { readonly metric: string }>(all: readonly T[]) =>
  all.filter((one): one is T & { readonly metric: Metric } => isMetric(one.metric));

export const unknownMetrics = (names: Iterable<string>): string[] =>
  [...new Set(names)].filter((name) => !isMetric(name));

/** The warning about a skipped metric; `where` is the subject. */
export const skippedText = (where: string, metric: string): string =>
  `${where} has the metric ${oneLine(metric)}, unknown to this version: skipped`;

/**
 * Byte columns of a table. `rss`: the tree's resident set; `cgroup`: the job's own; `total`, `free`: the device's
 * capacity; `driver`: NVML v2 `reserved`; `job`: what the driver attributes to the rank's processes; `others`: rest.
 */
export const COLUMNS = [
  ...METRICS,
  "active",
  "inactive",
  "total",
  "free",
  "rss",
  "anon",
  "shmem",
  "cgroup",
  "driver",
  "job",
  "others",
  "processes",
  "blocks",
  "ticks",
] as const;
export type Column = (typeof COLUMNS)[number];

/**
 * Columns that are counts, not bytes: of processes, of blocks of Python's own allocator, and of the readings that a row
 * of a long run stands for.
 */
export const COUNTS: ReadonlySet<Column> = new Set<Column>(["processes", "blocks", "ticks"]);

/**
 * Samples of one rank on one device; arrays of equal length, missing values NaN. Sources with clocks of their own fill
 * different columns in separate tables of the same rank and device, so that no sample is moved or invented.
 */
export interface SampleTable {
  readonly rank: number;
  /** "host", "cuda:0", "mps:0", … */
  readonly device: string;
  /** Nanoseconds since {@link Recording.epochNs} (exact for 104 days); null when the source has no clock. */
  readonly timeNs: Float64Array | null;
  /** Step numbers if the source has them; NaN in rows without one. */
  readonly steps: Float64Array | null;
  /** Bytes (integers), except for {@link COUNTS}. */
  readonly columns: Readonly<Partial<Record<Column, Float64Array>>>;
  /** Columns that are running maxima by construction (`allocated_bytes_highwater`, peak counters). */
  readonly highwater: ReadonlySet<Column>;
  /** Rows with 1 were taken at the end of a step, so they have one phase. Absent if the source has none. */
  readonly atStep?: Uint8Array;
}

/** A peak that is more accurate than sampling: the kernel's or the allocator's own high-water mark. */
export interface KnownPeak {
  readonly rank: number;
  readonly device: string;
  readonly metric: Metric;
  readonly bytes: number;
  /** "exact" only by the host-peak rule: job cgroup, or one process that did not grow after its last sample. */
  readonly kind: "exact" | "sampled";
  /** Source: "VmHWM", "cgroup memory.peak", "max_memory_allocated", … */
  readonly source: string;
}

/** A series whose samples end before its process did: a ring of the probe or the sampler was lost. */
export interface CutSeries {
  readonly rank: number;
  readonly device: string;
  readonly metric: Metric;
}

/** A Stormlog telemetry event in canonical v2 form (22 keys, camel-cased here); byte counters null when unknown. */
export interface TelemetryEvent {
  readonly timestampNs: bigint;
  readonly eventType: string;
  readonly collector: string;
  readonly samplingIntervalMs: number;
  readonly pid: number;
  readonly host: string;
  readonly jobId: string | null;
  readonly rank: number;
  readonly localRank: number;
  readonly worldSize: number;
  readonly deviceId: number;
  readonly allocatorAllocated: number | null;
  readonly allocatorReserved: number | null;
  readonly allocatorActive: number | null;
  readonly allocatorInactive: number | null;
  readonly allocatorChange: number | null;
  readonly deviceUsed: number | null;
  readonly deviceFree: number | null;
  readonly deviceTotal: number | null;
  readonly context: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** True for telemetry version 4, for which Stormlog's rules differ; absent for earlier versions. */
  readonly isV4?: true;
}

/** An event of a recording (process started, phase, out of memory, sampler error). */
export interface RecordingMark {
  readonly timeNs: number;
  readonly kind: "process-start" | "process-exit" | "phase" | "oom" | "source-error" | "rate-change" | "stop";
  readonly text: string;
  readonly pid?: number;
}

/** A recorded run, or telemetry of another tool. */
export interface Recording {
  /** Wall clock of `timeNs` 0, Unix nanoseconds; null when the source has none. */
  readonly epochNs: bigint | null;
  readonly tables: readonly SampleTable[];
  readonly peaks: readonly KnownPeak[];
  readonly marks: readonly RecordingMark[];
  /** Present for Stormlog telemetry, whose rules use event types, contexts and job ids. */
  readonly events: readonly TelemetryEvent[] | null;
  /** World size that the source reports; null without one. */
  readonly worldSize: number | null;
  /** Column name → number of values that were empty, N/A, NaN or infinite. */
  readonly missing: Readonly<Record<string, number>>;
  /** `recording.json` of our own recordings; null for anything else. */
  readonly info: RecordingInfo | null;
  /** Absent if every series is complete. */
  readonly cut?: readonly CutSeries[] | undefined;
  /** Device events; absent if the source does not record them. */
  readonly health?: readonly DeviceHealth[];
}

/** How a measured command ended. */
export type ExitState =
  | { readonly kind: "running" }
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "signaled"; readonly signal: string }
  | { readonly kind: "timeout"; readonly after_s: number }
  | { readonly kind: "interrupted"; readonly signal: string }
  | { readonly kind: "not-started"; readonly code: string; readonly message: string };

/** Description of an environment: strings, numbers, or null (= unknown). See `verdict/fingerprint.ts`. */
export type Fingerprint = Readonly<Record<string, string | number | null>>;

/** Info that the probe of one process recorded. */
export interface ProbeProcess {
  readonly pid: number;
  readonly parent: number | null;
  readonly rank: number | null;
  readonly local_rank: number | null;
  readonly world_size: number | null;
  readonly role: "plain" | "rank" | "agent" | "child";
  /** "torch", "tensorflow" or "jax"; null when none was imported. */
  readonly framework: string | null;
  /** Program → version: `torch`, `cuda`, `hip`, `tensorflow`, `jax`, `jaxlib`. */
  readonly versions: Readonly<Record<string, string>>;
  /** Null for a program without Python. */
  readonly python: string | null;
  /** Source of its heap's numbers: `mallinfo2`, `mallinfo`, `jemalloc`, `mimalloc`, or `none:` and the reason. */
  readonly heap: string | null;
  /** Source of the numbers of Python's own memory: `pymalloc`, or `none:` and the reason; absent = not known. */
  readonly python_heap?: string | null | undefined;
  readonly allocator_conf: string | null;
  /** How its steps were recorded: `optimizer-hook`, `patched-step`, `api` or `file`; null without steps. */
  readonly steps_from: string | null;
  readonly devices: readonly ProbeDevice[];
  /** Error of the probe itself; null without one. */
  readonly error: string | null;
  /** Named phases of the program, in the order in which they were entered, at most 256; absent without any. */
  readonly phases?: readonly ProbePhase[] | undefined;
  /** Number of further phases; absent = none. */
  readonly phases_dropped?: number | undefined;
}

/** A phase that a process named (`stormlog_gate.phase`), on the recording's clock. */
export interface ProbePhase {
  readonly name: string;
  readonly began_ns: number;
  /** Null without an end: the process was killed, or ended, within it. */
  readonly ended_ns: number | null;
}

/** One device of one process, with the framework's name and the recording's. */
export interface ProbeDevice {
  /** `cuda:0`, `jax:0`, … as numbered by the process. */
  readonly own_name: string;
  readonly name: string;
  readonly model: string | null;
  readonly uuid: string | null;
  readonly total_bytes: number | null;
  /** The driver's number of the same device; null when unknown. */
  readonly driver_index: number | null;
}

/** Info that the probes in the measured processes recorded, once the run was over. */
export interface ProbeSummary {
  /** At most 256 of them, those with a rank, steps or a framework first. */
  readonly processes: readonly ProbeProcess[];
  readonly processes_total: number;
}

/** `recording.json`, schema `stormlog.recording/1`: written before the command (`complete: false`) and after it. */
export interface RecordingInfo {
  readonly schema: "stormlog.recording/1";
  readonly complete: boolean;
  readonly scenario: string;
  /** 1-based number of this run within its bundle. */
  readonly run: number;
  readonly session: string;
  readonly commit: string | null;
  readonly command: { readonly argv: readonly string[]; readonly shell: boolean; readonly cwd: string };
  readonly exit: ExitState;
  readonly clock: {
    /** CLOCK_MONOTONIC at `timeNs` 0, decimal string. */
    readonly monotonic_start_ns: string;
    /** Unix nanoseconds at the same time, decimal string. */
    readonly epoch_ns: string;
    readonly duration_s: number | null;
  };
  readonly identity: {
    readonly rank: number;
    readonly local_rank: number;
    readonly world_size: number;
    readonly job_id: string | null;
    readonly host: string;
    readonly pid: number;
  };
  readonly fingerprint: Fingerprint;
  readonly sampler: {
    readonly kind: "native" | "fallback";
    readonly reason: string | null;
    readonly host_period_ns: number;
    readonly device_period_ns: number;
    /** Reached rates, per second; null until the end. */
    readonly host_rate_hz: number | null;
    readonly device_rate_hz: number | null;
    readonly ticks: number | null;
    readonly missed_ticks: number | null;
    /** CPU seconds of the sampler's own threads. */
    readonly cpu_s: number | null;
    readonly cpu_budget_percent: number | null;
  };
  readonly sources: readonly SourceReport[];
  readonly peaks: readonly KnownPeak[];
  readonly output: { readonly bytes: number; readonly kept_bytes: number } | null;
  /** Sentences about lost data, with the reason. Empty without losses. */
  readonly lost: readonly string[];
  /** Series whose samples end early; absent without any. */
  readonly cut?: readonly CutSeries[] | undefined;
  /** Absent when no probe was requested. */
  readonly probe?: ProbeSummary | undefined;
  /** Out of memory with its evidence; absent without any. */
  readonly oom?: OutOfMemory | undefined;
  /** The sampled devices; absent without any. */
  readonly devices?: readonly RecordedDevice[] | undefined;
}
