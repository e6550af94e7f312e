import type { Metric } from "../../telemetry/recording/metrics.ts";

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

/** One analysed series of `stormlog.analysis/1`; sizes in bytes, null = unknown. */
export interface SeriesAnalysis {
  readonly rank: number;
  readonly device: string;
  readonly metric: Metric;
  readonly highwater: boolean;
  readonly samples: number;
  readonly duration_s: number | null;
  readonly steps: number | null;
  readonly peak_bytes: number | null;
  readonly peak_kind: "exact" | "sampled";
  readonly slope_bytes_per_s: number | null;
  readonly slope_bytes_per_step: number | null;
  /** 95 %, per step where steps exist, else per second. */
  readonly slope_interval: readonly [number, number] | null;
  /** Growth of the stretch that the slope describes: without the warm-up, the time before an onset, and the end. */
  readonly growth_bytes: number | null;
  readonly class: DriftClass;
  /** Minimum detectable total growth of this series. */
  readonly mde_bytes: number | null;
  readonly steps_to_oom: number | null;
  readonly seconds_to_oom: number | null;
  /** True: the samples end before the program did, so its sizes are lower bounds. Absent = not known to. */
  readonly cut?: boolean | undefined;
}

/** The series of a phase that a policy judges: over its occurrences, the upper half of the samples of each. */
export interface PhaseAnalysis {
  readonly phase: string;
  readonly rank: number;
  readonly device: string;
  readonly metric: Metric;
  readonly occurrences: number;
  readonly peak_bytes: number | null;
  readonly growth_bytes: number | null;
  readonly class: DriftClass;
}

/** An installed package. Its texts come from the machine that was measured: escape them where they are printed. */
export interface Package {
  readonly ecosystem: "python" | "node";
  readonly name: string;
  readonly version: string;
  /** Why the lock file calls this version deprecated; absent where it does not. */
  readonly deprecated?: string;
  /** Present where pip's installation report marks this version yanked. */
  readonly yanked?: true;
}

/** How the code of a package is on the stack of a line: its own line, called by it, or calling it. */
export const PACKAGE_RELATIONS = ["contains", "called", "calls"] as const;

/** The package that a line's memory belongs to. */
export interface LinePackage extends Package {
  readonly relation: (typeof PACKAGE_RELATIONS)[number];
}

export interface Finding {
  readonly classification: string;
  readonly severity: Severity;
  readonly confidence: number;
  readonly rank: number | null;
  readonly device: string | null;
  readonly metric: Metric | null;
  readonly evidence: Readonly<Record<string, number | string | boolean | null>>;
  readonly description: string;
  /** The installed package of the line; absent where the line is in none, or it is unknown. */
  readonly package?: LinePackage;
  /** The deciding check that this finding describes once more; absent = none. */
  readonly explained_by?: string;
  readonly remediation: readonly string[];
}

/**
 * Whether a finding only says how a run was measured: why a series has no class, or how long a leak would stay
 * hidden. It is in the analysis of the run, and not among the findings of a report.
 */
export function isBackground({ classification, severity, evidence }: Finding): boolean {
  if (severity !== "info") return false;
  if (classification === "allocator_slack") return evidence.leak !== "measured";
  return classification === "insufficient_data" || classification === "unavailable";
}

export interface TraceMlDiagnosis {
  readonly kind: "CREEP_CONFIRMED" | "CREEP_EARLY" | "HIGH_PRESSURE" | "IMBALANCE" | "BALANCED" | "NO_DATA" | "NO_GPU";
  readonly status: string;
  readonly severity: "info" | "warn" | "crit";
  readonly worst_rank: number | null;
}

export interface FirstCauseSuspect {
  readonly rank: number;
  /** Nanosecond timestamps and spans as decimal strings: they exceed 2^53. */
  readonly first_spike_timestamp_ns: string;
  readonly aligned_first_spike_timestamp_ns: string;
  readonly peak_delta_bytes: number;
  readonly spike_window_samples: number;
  readonly lead_over_cluster_onset_ns: string;
  readonly confidence: "high" | "medium" | "low";
  readonly evidence: { readonly device_used_delta_bytes: number; readonly supporting_ranks_at_or_before_onset: number };
}

/** A rank whose memory grows unlike that of the other ranks. */
export interface RankSuspect {
  readonly rank: number;
  readonly device: string;
  readonly metric: Metric;
  /** "high": alone, and no rank is missing. "medium": alone among known ranks, or clearly the first of several. */
  readonly confidence: "high" | "medium" | "low";
  /** "departure": from the median over ranks, beyond the spread of all. "class": its own series leaks or rises. */
  readonly basis: "departure" | "class";
  /** Growth from the onset on: beyond the median over ranks for a departure, else of its own series. */
  readonly growth_bytes: number;
  /** Onset of the growth on the axis on which ranks are compared; null on the other one. */
  readonly onset_step: number | null;
  /** Seconds after the first sample of the lowest rank, on the common clock. */
  readonly onset_s: number | null;
}

/** A role among the processes of a rank. Its texts come from the measured machine: escape them in print. */
export interface ProcessAnalysis {
  /** "worker 2 of 4 of gunicorn", "the main process of job.py". */
  readonly role: string;
  readonly program: string;
  readonly rank: number;
  /** Processes that have had the role. */
  readonly pids: number;
  /** Anonymous and shared memory; what a fork still shares with its parent counts in the parent. */
  readonly peak_bytes: number;
  /** Null in a run that is too short. */
  readonly growth_bytes: number | null;
  /** Of the growth of all roles, 0 to 1; null where none grew. */
  readonly share: number | null;
  /** The part of the run that the growth is of, seconds. */
  readonly window_s: number;
}

/** How the clocks of several ranks were aligned; `alignment_offsets_ns` contains the offsets. */
interface ClockDocument {
  /** "both": some ranks by first samples, others by the wall clock. */
  readonly used: "first-samples" | "wall-clock" | "both";
  readonly wall_clock_ranks: readonly number[];
  /** Median distance between the same step of two ranks, each way; null where steps could not be compared. */
  readonly first_samples_error_ns: number | null;
  readonly wall_clock_error_ns: number | null;
}

export interface RanksAnalysis {
  readonly job_id: string | null;
  readonly world_size: number;
  readonly participating_ranks: readonly number[];
  readonly missing_ranks: readonly number[];
  readonly rank_sample_counts: Readonly<Record<string, number>>;
  readonly alignment_offsets_ns: Readonly<Record<string, string>>;
  /** Absent for one rank, and for Stormlog's own telemetry, where first samples always coincide. */
  readonly clock?: ClockDocument | undefined;
  readonly cluster_onset_timestamp_ns: string | null;
  /** By Stormlog's rule, unchanged; `suspects` is the gate's own answer. */
  readonly first_cause_suspects: readonly FirstCauseSuspect[];
  /** Absent in documents of earlier releases. */
  readonly suspects?: readonly RankSuspect[] | undefined;
  readonly notes: readonly string[];
}

/** `stormlog.analysis/1`: same input, same bytes out. */
export interface AnalysisDocument {
  readonly schema: "stormlog.analysis/1";
  /** {@link ANALYSIS_VERSION} of its release; absent = 1. */
  readonly analysis_version?: number | undefined;
  readonly series: readonly SeriesAnalysis[];
  readonly findings: readonly Finding[];
  readonly diagnosis: readonly TraceMlDiagnosis[];
  readonly ranks: RanksAnalysis;
  /** Releases of Stormlog whose rules were applied, by finding; several where ranks differ; absent without data. */
  readonly rules?: { readonly fragmentation_like: readonly ("0.3.10" | "0.4.3")[] } | undefined;
  readonly missing: Readonly<Record<string, number>>;
  /** Absent where every rank has one process. */
  readonly processes?: readonly ProcessAnalysis[] | undefined;
  /** Series of the phases that the policy judges; absent = it judges none. */
  readonly phases?: readonly PhaseAnalysis[] | undefined;
  /** Warnings of the file readers; from `analyze` only. */
  readonly notes?: readonly string[] | undefined;
}
