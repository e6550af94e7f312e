import * as v from "valibot";
import { DRIFT_CLASSES, PACKAGE_RELATIONS } from "../../analysis/series/document.ts";
import { DAY } from "../../core/units.ts";
import { METRICS } from "../../telemetry/recording/metrics.ts";
import { RecordingInfoSchema } from "../../telemetry/recording/recording-schema.ts";
import { CAUSES, RUN_ROLES } from "./gate-report.ts";
import { PeakReportSchema, StackedPeaksSchema } from "./peak-report.ts";

/** Validators of a report's `payload`, which may come from a fork: each value is checked and bounded before its use. */

const MAX = 10_000;
const MAX_POINTS = 20_000;
/** Series, checks and ranks of a job: 100,000 ranks with a dozen of them each. The file's size bounds the parsing. */
const MAX_OF_RANKS = 2_000_000;

/** Above every measurement, and small enough that sums and scales stay finite. */
const LARGEST = 1e100;

export const number = v.pipe(v.number(), v.minValue(-LARGEST), v.maxValue(LARGEST));
export const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const text = v.pipe(v.string(), v.maxLength(20_000));
/** Maximum number of values of `--vary`, and of known leaks. */
const MAX_VALUES = 40;

const list = <T extends v.GenericSchema>(schema: T) => v.pipe(v.array(schema), v.maxLength(MAX));
const ofRanks = <T extends v.GenericSchema>(schema: T) => v.pipe(v.array(schema), v.maxLength(MAX_OF_RANKS));
const points = v.pipe(v.array(number), v.maxLength(MAX_POINTS));
const values = v.pipe(v.array(v.nullable(number)), v.maxLength(MAX_POINTS));
const scalar = v.union([text, number, v.null()]);
const metric = v.picklist(METRICS);
const driftClass = v.picklist(DRIFT_CLASSES);
const checkVerdict = v.picklist(["pass", "warn", "fail", "unjudged"]);
const VerdictSchema = v.picklist(["pass", "warn", "fail", "unjudged", "error"]);

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

const CheckSchema = v.object({
  rank: count,
  device: text,
  metric,
  phase: v.exactOptional(text),
  aspect: v.picklist(["peak", "growth", "class", "oom"]),
  limit: v.picklist(["budget", "baseline", "anchor"]),
  gating: v.boolean(),
  verdict: checkVerdict,
  candidate_bytes: v.nullable(number),
  baseline_bytes: v.nullable(number),
  threshold_bytes: v.nullable(number),
  mde_bytes: v.nullable(number),
  candidate_class: v.nullable(driftClass),
  baseline_class: v.nullable(driftClass),
  needs_more_runs: count,
  needs_base_runs: count,
  improved: v.boolean(),
  confirmed: v.boolean(),
  explained_by: v.exactOptional(text),
  horizon: v.exactOptional(text),
  cache_unless: v.exactOptional(text),
  reason: text,
});

/** The output of `judge`. */
export const JudgementSchema = v.object({
  verdict: checkVerdict,
  final: v.boolean(),
  confirmed: v.boolean(),
  checks: ofRanks(CheckSchema),
  fingerprint: list(
    v.object({ field: text, kind: v.picklist(["identity", "context"]), baseline: scalar, candidate: scalar }),
  ),
  needs_more_runs: count,
  needs_base_runs: count,
  reason: text,
});

const EnvelopeSchema = v.object({
  rank: count,
  device: text,
  metric,
  time_s: points,
  low_bytes: points,
  mid_bytes: points,
  high_bytes: points,
  steps: v.exactOptional(points),
  runs: v.exactOptional(count),
});

const TimelineSchema = v.object({
  scenario: text,
  verdict: VerdictSchema,
  subtitle: text,
  series: list(
    v.object({
      rank: count,
      device: text,
      metric,
      gating: v.boolean(),
      time_s: points,
      steps: v.exactOptional(values),
      bytes: values,
    }),
  ),
  about: v.optional(v.object({ rank: count, device: text, metric })),
  envelope: v.nullable(EnvelopeSchema),
  budget_bytes: v.nullable(number),
  threshold_bytes: v.nullable(number),
  marks: list(v.object({ time_s: number, text })),
  run: v.exactOptional(v.object({ number: count, of: count })),
  phases: v.exactOptional(list(v.object({ name: text, from_s: number, to_s: number }))),
  panels: v.exactOptional(
    list(
      v.object({
        rank: count,
        device: text,
        metric,
        decides: v.boolean(),
        envelope: v.nullable(EnvelopeSchema),
        threshold_bytes: v.nullable(number),
        budget_bytes: v.nullable(number),
        growth: v.exactOptional(v.object({ bytes: number, per: v.picklist(["step", "second"]) })),
      }),
    ),
  ),
  peak: v.exactOptional(StackedPeaksSchema),
  cause: v.exactOptional(v.nullable(v.object({ location: text, code: v.nullable(text), share: v.nullable(number) }))),
});

/** Memory by the phases that the program names. */
const PhasesSchema = v.object({
  metric: v.picklist(["allocated", "host"]),
  device: v.nullable(text),
  phases: list(
    v.object({
      name: text,
      entered: count,
      unended: count,
      processes: count,
      seconds: v.nullable(number),
      highest_bytes: v.nullable(number),
      growth_bytes: v.nullable(number),
    }),
  ),
  dropped: count,
});

/** Who accepted a difference, and why. */
const AcceptanceSchema = v.object({
  difference: text,
  by: text,
  reason: text,
  via: v.picklist(["comment", "label", "trailer"]),
  at_iso: v.nullable(text),
  head_sha: v.nullable(text),
  url: v.nullable(text),
});

/** How the gate was started; words of a command line. */
const InvocationSchema = v.object({
  directory: v.nullable(text),
  config: v.nullable(text),
  command: v.nullable(list(text)),
  options: list(text),
  baselines: v.nullable(list(text)),
  base: v.nullable(text),
  fetch: v.boolean(),
  modified: v.boolean(),
});

const ScenarioSchema = v.object({
  scenario: text,
  verdict: VerdictSchema,
  judgement: v.nullable(JudgementSchema),
  error: v.nullable(
    v.object({ code: text, message: text, hint: v.nullable(text), output_tail: v.exactOptional(text) }),
  ),
  runs: list(
    v.object({
      role: v.picklist(RUN_ROLES),
      directory: text,
      info: RecordingInfoSchema,
      analysis: v.nullable(AnalysisSchema),
      phases: v.exactOptional(PhasesSchema),
    }),
  ),
  baseline: v.nullable(
    v.object({
      source: text,
      runs: count,
      sessions: count,
      newest_iso: v.nullable(text),
      commit: v.nullable(text),
      earlier_runs: v.exactOptional(count),
    }),
  ),
  fingerprint: v.record(text, scalar),
  findings: list(FindingSchema),
  timeline: v.nullable(TimelineSchema),
  difference: v.exactOptional(text),
  caused_by: v.exactOptional(v.picklist(CAUSES)),
  lock_changes: v.exactOptional(
    v.object({
      total: count,
      packages: list(
        v.object({
          ecosystem: v.picklist(["python", "node"]),
          name: text,
          from: v.nullable(text),
          to: v.nullable(text),
        }),
      ),
    }),
  ),
  peak: v.exactOptional(PeakReportSchema),
  interference: v.exactOptional(list(text)),
  invocation: v.exactOptional(InvocationSchema),
  accepted: v.exactOptional(AcceptanceSchema),
  known_leaks: v.exactOptional(
    v.pipe(
      list(v.object({ package: text, version: text, at: text, until: v.pipe(text, v.regex(DAY)), reason: text })),
      v.maxLength(MAX_VALUES),
    ),
  ),
});

/** Peak memory over the values of `--vary`. */
const ScalingSchema = v.object({
  scenario: text,
  name: text,
  metric: text,
  device: text,
  points: v.pipe(
    list(v.object({ value: text, bytes: v.nullable(number), failed: v.exactOptional(v.boolean()) })),
    v.maxLength(MAX_VALUES),
  ),
  fit: v.nullable(v.object({ a_bytes: number, b_bytes: number, exponent: number, low: number, high: number })),
  no_fit: v.nullable(text),
  fits: list(
    v.object({
      name: text,
      bytes: number,
      largest: v.nullable(v.object({ value: number, low: number, high: number })),
    }),
  ),
  verdict: v.nullable(v.picklist(["pass", "fail", "unjudged"])),
  reason: v.nullable(text),
});

/** The gate's own data in a `memory_gate` report. */
export const PayloadSchema = v.object({
  verdict: VerdictSchema,
  exit_code: v.pipe(v.number(), v.integer()),
  final: v.boolean(),
  confirmed: v.boolean(),
  session: text,
  commit: v.nullable(text),
  cost: v.object({ runs: count, minutes: number }),
  warnings: list(text),
  scenarios: list(ScenarioSchema),
  policy_changes: v.exactOptional(list(v.object({ path: text, base: v.nullable(text), head: v.nullable(text) }))),
  policy_difference: v.exactOptional(text),
  policy_accepted: v.exactOptional(AcceptanceSchema),
  scaling: v.exactOptional(list(ScalingSchema)),
});
export type Payload = v.InferOutput<typeof PayloadSchema>;
