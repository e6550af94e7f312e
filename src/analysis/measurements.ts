import * as v from "valibot";
import { METRICS } from "../telemetry/recording/metrics.ts";
import { MAX_RANK } from "../telemetry/recording/model.ts";
import { countEntries, DRIFT_CLASSES, withSizes } from "./series/document.ts";

const bytes = v.pipe(v.number(), v.finite());
const size = v.pipe(bytes, v.minValue(0));

/** Features of one series of one run: the fields of an analysis that are judged and stored. */
export const MeasuredSeriesSchema = v.object({
  rank: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MAX_RANK)),
  device: v.string(),
  metric: v.picklist(METRICS),
  /** The phase of the program in which the series was measured; absent = the whole run. */
  phase: v.optional(v.pipe(v.string(), v.maxLength(80))),
  peak_bytes: v.nullable(size),
  growth_bytes: v.optional(v.nullable(bytes)),
  slope_bytes_per_step: v.optional(v.nullable(bytes)),
  slope_bytes_per_s: v.optional(v.nullable(bytes)),
  class: v.optional(v.picklist(DRIFT_CLASSES)),
  /** The samples end before the program did: what they show is a lower bound, and within a limit it proves nothing. */
  cut: v.optional(v.boolean()),
});
export type MeasuredSeries = v.InferOutput<typeof MeasuredSeriesSchema>;

/** Version of the analysis that measured growth and class; absent = 1. Those of other versions are not compared. */
export const AnalysisVersionSchema = v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1)));

/** One execution. `metrics` is shorthand for one rank on one device: `{"allocated_peak_bytes": n, …}`. */
const MeasuredRunSchema = v.object({
  session: v.string(),
  commit: v.optional(v.nullable(v.string())),
  analysis_version: AnalysisVersionSchema,
  /** Series of metrics that are not known are skipped. */
  series: v.optional(
    v.array(
      v.pipe(
        v.object({ ...MeasuredSeriesSchema.entries, metric: v.string(), ...countEntries }),
        v.transform(withSizes),
      ),
    ),
  ),
  /** The C heaps of all processes of a rank together, where it has several. */
  heaps: v.optional(v.array(MeasuredSeriesSchema)),
  metrics: v.optional(v.record(v.string(), v.union([v.number(), v.string(), v.null()]))),
  /** Steps that the run made; absent = not known. */
  steps: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  /** The run ran out of memory (reported by the run, the kernel or the cgroup). */
  oom: v.optional(v.boolean()),
  /** Only the run's output indicates that it ran out of memory, and it ended normally: a warning. */
  oom_suspected: v.optional(v.boolean()),
});
export type MeasuredRunInput = v.InferOutput<typeof MeasuredRunSchema>;

/** `stormlog.measurements/1` as stored in a file. */
export const MeasurementsSchema = v.object({
  schema: v.literal("stormlog.measurements/1"),
  scenario: v.string(),
  fingerprint: v.optional(v.nullable(v.record(v.string(), v.union([v.string(), v.number(), v.null()])))),
  runs: v.array(MeasuredRunSchema),
});
export type MeasurementsInput = v.InferOutput<typeof MeasurementsSchema>;
export type MeasurementsDocument = v.InferInput<typeof MeasurementsSchema>;

/** A run with the shorthand resolved. */
export interface MeasuredRun {
  readonly session: string;
  readonly commit: string | null;
  /** A re-run of the base commit beside the candidate, which no baseline contains; absent = it is none. */
  readonly rerun?: true;
  /** Version of the analysis; absent = 1. */
  readonly analysis_version?: number;
  readonly series: readonly MeasuredSeries[];
  /** The C heaps of all processes of a rank together; absent where it has one, or they are not known. */
  readonly heaps?: MeasuredSeries[];
  /** Steps that the run made; absent = not known. */
  readonly steps?: number;
  /** The run ran out of memory; absent = not known to have. */
  readonly oom?: boolean;
  /** It may have, according to its output alone. */
  readonly oom_suspected?: boolean;
}

/** Measurements of one scenario in one environment, shorthand resolved. */
export interface Measurements {
  readonly scenario: string;
  readonly fingerprint: Readonly<Record<string, string | number | null>> | null;
  readonly runs: readonly MeasuredRun[];
  /** Metrics whose series were skipped, since this version does not know them; absent = none. */
  readonly unknown_metrics?: readonly string[];
}
