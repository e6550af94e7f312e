import { oneLine } from "../../core/text.ts";
import { isCounted, isMetric, METRICS, type Metric } from "./metrics.ts";
import type { DeviceHealth } from "./recorded-device.ts";
import type { CutSeries, KnownPeak, RecordingInfo, RecordingMark } from "./recording-schema.ts";

/** Fields of a fingerprint that change what the same program holds. */
export const MEMORY_SETTINGS = [
  "allocator",
  "memory_limit_bytes",
  "not_measured",
  "swap_bytes",
  "transparent_hugepages",
] as const;

export type {
  CutSeries,
  ExitState,
  Fingerprint,
  KnownPeak,
  ProbeDevice,
  ProbePhase,
  ProbeProcess,
  ProbeSummary,
  RecordingInfo,
  RecordingMark,
} from "./recording-schema.ts";

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
 * `shared`, `files`, `heap_used`, `heap_kept`, `unaccounted`: what `host` consists of at some of its times.
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
  "shared",
  "files",
  "heap_used",
  "heap_kept",
  "unaccounted",
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
 * Columns that are counts, not bytes: of processes, of blocks of Python's own allocator, of the readings that a row
 * of a long run stands for, and of what the metrics count.
 */
export const COUNTS: ReadonlySet<Column> = new Set<Column>([
  "processes",
  "blocks",
  "ticks",
  ...METRICS.filter(isCounted),
]);

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

/** Whether the measured command did what it was to do: a service, until its load was over. */
export const hasSucceeded = ({ exit, service }: Pick<RecordingInfo, "exit" | "service">): boolean =>
  service === undefined ? exit.kind === "exited" && exit.code === 0 : exit.kind === "stopped" && !service.problem;

/** A recording of which nothing but the tables is known. */
export const emptyRecording = (tables: readonly SampleTable[]): Recording => ({
  epochNs: null,
  tables,
  peaks: [],
  marks: [],
  events: null,
  worldSize: null,
  missing: {},
  info: null,
});

/** One run of a bundle; `name` is its directory below `runs`: `<scenario>/<n>`. */
export interface NamedRecording {
  readonly name: string;
  readonly recording: Recording;
}

/** A read input. `notes` are sentences on how it was read where not obvious (truncated file, unordered timestamps). */
export type Telemetry =
  | {
      readonly kind: "recording";
      readonly recording: Recording;
      readonly format: string;
      readonly notes: readonly string[];
    }
  | { readonly kind: "runs"; readonly runs: readonly NamedRecording[]; readonly notes: readonly string[] }
  | { readonly kind: "measurements"; readonly document: unknown }
  | { readonly kind: "baseline"; readonly document: unknown };
