import * as v from "valibot";
import { DRIFT_CLASSES, PACKAGE_RELATIONS } from "../../analysis/series/document.ts";
import { METRICS } from "../../telemetry/recording/metrics.ts";

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

export const SeriesSchema = v.object({
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
  slope_interval: v.nullable(v.tuple([number, number])),
  growth_bytes: v.nullable(number),
  class: driftClass,
  mde_bytes: v.nullable(number),
  steps_to_oom: v.nullable(number),
  seconds_to_oom: v.nullable(number),
  cut: v.optional(v.boolean()),
});

export const FindingSchema = v.object({
  classification: text,
  severity: v.picklist(["info", "warning", "critical"]),
  confidence: number,
  rank: v.nullable(count),
  device: v.nullable(text),
  metric: v.nullable(metric),
  evidence: v.record(text, v.union([text, number, v.boolean(), v.null()])),
  description: text,
  package: v.exactOptional(
    v.object({
      ecosystem: v.picklist(["python", "node"]),
      name: text,
      version: text,
      deprecated: v.exactOptional(text),
      yanked: v.exactOptional(v.literal(true)),
      relation: v.picklist(PACKAGE_RELATIONS),
    }),
  ),
  explained_by: v.exactOptional(text),
  remediation: list(text),
});

export const ProcessSchema = v.object({
  role: text,
  program: text,
  rank: count,
  pids: count,
  peak_bytes: number,
  growth_bytes: v.nullable(number),
  share: v.nullable(number),
  window_s: number,
});

/** `stormlog.analysis/1`, the output of `analyze`. */
export const AnalysisSchema = v.object({
  schema: v.literal("stormlog.analysis/1"),
  analysis_version: v.exactOptional(v.pipe(count, v.minValue(1))),
  series: ofRanks(SeriesSchema),
  phases: v.exactOptional(
    list(
      v.object({
        phase: text,
        rank: count,
        device: text,
        metric,
        occurrences: count,
        peak_bytes: v.nullable(number),
        growth_bytes: v.nullable(number),
        class: driftClass,
      }),
    ),
  ),
  processes: v.exactOptional(ofRanks(ProcessSchema)),
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
    clock: v.exactOptional(
      v.object({
        used: v.picklist(["first-samples", "wall-clock", "both"]),
        wall_clock_ranks: ofRanks(count),
        first_samples_error_ns: v.nullable(number),
        wall_clock_error_ns: v.nullable(number),
      }),
    ),
    cluster_onset_timestamp_ns: v.nullable(text),
    first_cause_suspects: list(
      v.object({
        rank: count,
        first_spike_timestamp_ns: text,
        aligned_first_spike_timestamp_ns: text,
        peak_delta_bytes: number,
        spike_window_samples: count,
        lead_over_cluster_onset_ns: text,
        confidence: v.picklist(["high", "medium", "low"]),
        evidence: v.object({ device_used_delta_bytes: number, supporting_ranks_at_or_before_onset: count }),
      }),
    ),
    suspects: v.exactOptional(
      ofRanks(
        v.object({
          rank: count,
          device: text,
          metric,
          confidence: v.picklist(["high", "medium", "low"]),
          basis: v.picklist(["departure", "class"]),
          growth_bytes: number,
          onset_step: v.nullable(number),
          onset_s: v.nullable(number),
        }),
      ),
    ),
    notes: list(text),
  }),
  rules: v.optional(v.object({ fragmentation_like: list(v.picklist(["0.3.10", "0.4.3"])) })),
  missing: v.record(text, count),
  notes: v.optional(list(text)),
});
