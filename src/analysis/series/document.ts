import * as v from "valibot";
import type { DeepReadonly } from "../../core/json.ts";
import { isCounted, METRICS } from "../../telemetry/recording/metrics.ts";

/**
 * Version of the rules that measure growth and class. Values of different versions are not compared, so it rises with
 * every change that moves them. Documents without one are of version 1.
 */
export const ANALYSIS_VERSION = 9;

/** The drift class of one series; exactly one per (rank, device, metric). */
export const DRIFT_CLASSES = [
  "flat",
  "plateau",
  "step",
  "spike",
  "sawtooth",
  "rising",
  "leak",
  "shrink",
  "insufficient",
  "unavailable",
] as const;
export type DriftClass = (typeof DRIFT_CLASSES)[number];

const SEVERITY_ORDER = { critical: 0, warning: 1, info: 2 } as const;
export type Severity = keyof typeof SEVERITY_ORDER;

/** Orders findings, the most severe first. */
export const compareSeverity = (a: Pick<Finding, "severity">, b: Pick<Finding, "severity">): number =>
  SEVERITY_ORDER[a.severity] - SEVERITY_ORDER[b.severity];

/** Validators of an analysis and their common parts. A value may come from a fork: each is checked and bounded. */

/** Above every measurement, and small enough that sums and scales stay finite. */
const LARGEST = 1e100;
export const number = v.pipe(v.number(), v.minValue(-LARGEST), v.maxValue(LARGEST));
export const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
export const text = v.pipe(v.string(), v.maxLength(20_000));
export const list = <T extends v.GenericSchema>(schema: T) => v.pipe(v.array(schema), v.maxLength(10_000));
// Series, checks and ranks of a job: 100,000 ranks with a dozen of them each. The file's size bounds the parsing.
export const ofRanks = <T extends v.GenericSchema>(schema: T) => v.pipe(v.array(schema), v.maxLength(2_000_000));
export const metric = v.picklist(METRICS);
export const driftClass = v.picklist(DRIFT_CLASSES);

/** What a counted metric has in documents, beside null bytes; absent for the others. */
export const countEntries = {
  peak_count: v.exactOptional(v.nullable(number)),
  growth_count: v.exactOptional(v.nullable(number)),
};

/** Sizes of a series as documents have them. */
interface Counts {
  readonly peak_count?: number | null;
  readonly growth_count?: number | null;
}

/** A series of a document; a counted metric has its numbers where others have bytes, and one rule judges all. */
export function withSizes<Series extends Counts>(series: Series): Omit<Series, keyof Counts> {
  const { peak_count: peak, growth_count: growth, ...rest } = series;
  return {
    ...rest,
    ...(peak === undefined ? {} : { peak_bytes: peak }),
    ...(growth === undefined ? {} : { growth_bytes: growth }),
  };
}

/** A series for a document: the numbers of a counted metric are not called bytes. */
export function withCounts<
  Series extends {
    readonly metric: string;
    readonly peak_bytes: number | null;
    readonly growth_bytes?: number | null | undefined;
  },
>(series: Series): Series & Counts {
  if (!isCounted(series.metric)) return series;
  const { peak_bytes: peak, growth_bytes: growth = null } = series;
  return { ...series, peak_bytes: null, growth_bytes: null, peak_count: peak, growth_count: growth };
}

/** One analysed series of `stormlog.analysis/1`; sizes in bytes, null = unknown. */
const SeriesEntries = v.object({
  rank: count,
  device: text,
  metric,
  highwater: v.boolean(),
  samples: count,
  duration_s: v.nullable(number),
  steps: v.nullable(number),
  peak_bytes: v.nullable(number),
  peak_kind: v.picklist(["exact", "sampled"]),
  slope_bytes_per_s: v.nullable(number),
  slope_bytes_per_step: v.nullable(number),
  /** What a request to a service leaves; null where requests were not counted, absent for other commands. */
  growth_bytes_per_request: v.exactOptional(v.nullable(number)),
  /** 95 %, per step where steps exist, else per second. */
  slope_interval: v.nullable(v.tuple([number, number])),
  /** Growth of the stretch that the slope describes: without the warm-up, the time before an onset, and the end. */
  growth_bytes: v.nullable(number),
  class: driftClass,
  /** Minimum detectable total growth of this series. */
  mde_bytes: v.nullable(number),
  /** That, for each request to a service; as `growth_bytes_per_request`. */
  mde_bytes_per_request: v.exactOptional(v.nullable(number)),
  steps_to_oom: v.nullable(number),
  seconds_to_oom: v.nullable(number),
  /** True: the samples end before the program did, so its sizes are lower bounds. Absent = not known to. */
  cut: v.optional(v.boolean()),
  ...countEntries,
});
export const SeriesSchema = v.pipe(SeriesEntries, v.transform(withSizes));
export type SeriesAnalysis = DeepReadonly<v.InferOutput<typeof SeriesSchema>>;

/** How the code of a package is on the stack of a line: its own line, called by it, or calling it. */
const PACKAGE_RELATIONS = ["contains", "called", "calls"] as const;

/** What a series counts as a step. */
export const stepNoun = (series: Pick<SeriesAnalysis, "growth_bytes_per_request">): "step" | "request" =>
  series.growth_bytes_per_request === undefined ? "step" : "request";

/** The installed package of a line's memory. Its texts come from the measured machine: escape them where printed. */
const LinePackageSchema = v.object({
  ecosystem: v.picklist(["python", "node"]),
  name: text,
  version: text,
  /** Why the lock file calls this version deprecated; absent where it does not. */
  deprecated: v.exactOptional(text),
  /** Present where pip's installation report marks this version yanked. */
  yanked: v.exactOptional(v.literal(true)),
  relation: v.picklist(PACKAGE_RELATIONS),
});
export type LinePackage = DeepReadonly<v.InferOutput<typeof LinePackageSchema>>;
export type Package = Omit<LinePackage, "relation">;

export const FindingSchema = v.object({
  classification: text,
  severity: v.picklist(["info", "warning", "critical"]),
  confidence: number,
  rank: v.nullable(count),
  device: v.nullable(text),
  metric: v.nullable(metric),
  evidence: v.record(text, v.union([text, number, v.boolean(), v.null()])),
  description: text,
  /** The installed package of the line; absent where the line is in none, or it is unknown. */
  package: v.exactOptional(LinePackageSchema),
  /** The deciding check that this finding describes once more; absent = none. */
  explained_by: v.exactOptional(text),
  remediation: list(text),
});
export type Finding = DeepReadonly<v.InferOutput<typeof FindingSchema>>;

/**
 * Whether a finding only says how a run was measured: why a series has no class, or how long a leak would stay
 * hidden. It is in the analysis of the run, and not among the findings of a report.
 */
export function isBackground({ classification, severity, evidence }: Finding): boolean {
  if (severity !== "info") return false;
  if (classification === "allocator_slack") return evidence.leak !== "measured";
  return classification === "insufficient_data" || classification === "unavailable";
}

const confidence = v.picklist(["high", "medium", "low"]);

/** A role among the processes of a rank. Its texts come from the measured machine: escape them in print. */
export const ProcessSchema = v.object({
  /** "worker 2 of 4 of gunicorn", "the main process of job.py". */
  role: text,
  program: text,
  rank: count,
  /** Processes that have had the role. */
  pids: count,
  /** Anonymous and shared memory; what a fork still shares with its parent counts in the parent. */
  peak_bytes: number,
  /** Null in a run that is too short. */
  growth_bytes: v.nullable(number),
  /** Of the growth of all roles, 0 to 1; null where none grew. */
  share: v.nullable(number),
  /** The part of the run that the growth is of, seconds. */
  window_s: number,
});
export type ProcessAnalysis = DeepReadonly<v.InferOutput<typeof ProcessSchema>>;

const interval = v.tuple([number, number]);

/**
 * What cycles of a service's load leave: `bytes` of the host, `descriptors`, `threads`, bytes of `files` in RAM and of
 * heaps (`python`, …), and `objects`, blocks of Python's own allocator.
 */
const CycleEntries = {
  /** Of each cycle, compared with the one before it; null = unknown. */
  cycles: v.exactOptional(
    list(v.objectWithRest({ requests: v.nullable(count), load_s: v.nullable(number) }, v.nullable(number))),
  ),
  /** Of a judged cycle, with its 95 % interval. */
  per_cycle: v.exactOptional(v.record(text, v.object({ left: number, interval }))),
};

/** When a leak fills the memory under the measured load; absent where nothing leaks or no limit is known. */
const ProjectionSchema = v.object({
  /** Requests a second; null where the load does not report them. */
  rate: v.nullable(number),
  limit_bytes: number,
  limit_of: v.picklist(["container", "-Xmx", "GOMEMLIMIT"]),
  seconds: number,
  interval,
});
export type Projection = DeepReadonly<v.InferOutput<typeof ProjectionSchema>>;

/** `stormlog.analysis/1`, the output of `analyze`: same input, same bytes out. */
export const AnalysisSchema = v.object({
  schema: v.literal("stormlog.analysis/1"),
  /** {@link ANALYSIS_VERSION} of its release; absent = 1. */
  analysis_version: v.exactOptional(v.pipe(count, v.minValue(1))),
  series: ofRanks(SeriesSchema),
  /**
   * Series of the phases that the policy judges, each over its occurrences, the upper half of the samples of each;
   * absent = it judges none.
   */
  phases: v.exactOptional(
    list(
      v.pipe(
        v.object({
          phase: text,
          rank: count,
          device: text,
          metric,
          occurrences: count,
          peak_bytes: v.nullable(number),
          growth_bytes: v.nullable(number),
          class: driftClass,
          ...countEntries,
        }),
        v.transform(withSizes),
      ),
    ),
  ),
  /** Absent where every rank has one process. */
  processes: v.exactOptional(ofRanks(ProcessSchema)),
  /** The C heaps of all processes of a rank together; absent where it has one process. */
  heaps: v.exactOptional(ofRanks(SeriesSchema)),
  ...CycleEntries,
  projection: v.exactOptional(ProjectionSchema),
  findings: list(FindingSchema),
  diagnosis: list(
    v.object({
      kind: v.picklist([
        "CREEP_CONFIRMED",
        "CREEP_EARLY",
        "HIGH_PRESSURE",
        "IMBALANCE",
        "BALANCED",
        "NO_DATA",
        "NO_GPU",
      ]),
      status: text,
      severity: v.picklist(["info", "warn", "crit"]),
      worst_rank: v.nullable(count),
    }),
  ),
  ranks: v.object({
    job_id: v.nullable(text),
    world_size: count,
    participating_ranks: ofRanks(count),
    missing_ranks: ofRanks(count),
    rank_sample_counts: v.record(text, count),
    alignment_offsets_ns: v.record(text, text),
    /** How the clocks were aligned. Absent for one rank, and for Stormlog's telemetry: first samples coincide there. */
    clock: v.exactOptional(
      v.object({
        /** "both": some ranks by first samples, others by the wall clock. */
        used: v.picklist(["first-samples", "wall-clock", "both"]),
        wall_clock_ranks: ofRanks(count),
        /** Median distance between the same step of two ranks, each way; null where steps could not be compared. */
        first_samples_error_ns: v.nullable(number),
        wall_clock_error_ns: v.nullable(number),
      }),
    ),
    cluster_onset_timestamp_ns: v.nullable(text),
    /** By Stormlog's rule, unchanged; `suspects` is the gate's own answer. */
    first_cause_suspects: list(
      v.object({
        rank: count,
        /** Nanosecond timestamps and spans as decimal strings: they exceed 2^53. */
        first_spike_timestamp_ns: text,
        aligned_first_spike_timestamp_ns: text,
        peak_delta_bytes: number,
        spike_window_samples: count,
        lead_over_cluster_onset_ns: text,
        confidence,
        evidence: v.object({ device_used_delta_bytes: number, supporting_ranks_at_or_before_onset: count }),
      }),
    ),
    /** Ranks whose memory grows unlike that of the others. Absent in documents of earlier releases. */
    suspects: v.exactOptional(
      ofRanks(
        v.object({
          rank: count,
          device: text,
          metric,
          /** "high": alone, and no rank is missing. "medium": alone among known ranks, or clearly first of several. */
          confidence,
          /** "departure": from the median over ranks, beyond the spread of all. "class": its own series grows. */
          basis: v.picklist(["departure", "class"]),
          /** Growth from the onset on: beyond the median over ranks for a departure, else of its own series. */
          growth_bytes: number,
          /** Onset of the growth on the axis on which ranks are compared; null on the other one. */
          onset_step: v.nullable(number),
          /** Seconds after the first sample of the lowest rank, on the common clock. */
          onset_s: v.nullable(number),
        }),
      ),
    ),
    notes: list(text),
  }),
  /** Releases of Stormlog whose rules were applied, by finding; several where ranks differ; absent without data. */
  rules: v.optional(v.object({ fragmentation_like: list(v.picklist(["0.3.10", "0.4.3"])) })),
  missing: v.record(text, count),
  /** Warnings of the file readers; from `analyze` only. */
  notes: v.optional(list(text)),
});
export type AnalysisDocument = DeepReadonly<v.InferOutput<typeof AnalysisSchema>>;

/** The analysis as it is written: {@link withCounts}. */
export function analysisDocument<Analysis extends Pick<AnalysisDocument, "series" | "phases">>(analysis: Analysis) {
  const { phases } = analysis;
  return {
    ...analysis,
    series: analysis.series.map(withCounts),
    ...(phases === undefined ? {} : { phases: phases.map(withCounts) }),
  };
}
export type PhaseAnalysis = NonNullable<AnalysisDocument["phases"]>[number];
export type TraceMlDiagnosis = AnalysisDocument["diagnosis"][number];
export type RanksAnalysis = AnalysisDocument["ranks"];
export type FirstCauseSuspect = RanksAnalysis["first_cause_suspects"][number];
export type RankSuspect = NonNullable<RanksAnalysis["suspects"]>[number];
