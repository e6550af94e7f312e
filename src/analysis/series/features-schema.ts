import * as v from "valibot";
import type { DeepReadonly } from "../../core/json.ts";
import { MAX_RANK } from "../../telemetry/recording/model.ts";
import { GapSharesSchema, RecordedDeviceSchema } from "../../telemetry/recording/recorded-device.ts";
import { count, FindingSchema, metric, number, ProcessSchema, SeriesSchema, text } from "./document.ts";

const rank = v.pipe(count, v.maxValue(MAX_RANK));
export const list = <T extends v.GenericSchema>(schema: T) => v.pipe(v.array(schema), v.maxLength(100_000));
/** Unix nanoseconds and spans exceed 2^53: decimal digits in the document, integers in memory. */
export const nanoseconds = v.pipe(
  v.string(),
  v.regex(/^-?\d{1,20}$/),
  v.transform((digits) => BigInt(digits)),
);
const column = v.pipe(
  list(number),
  v.transform((values): Float64Array => Float64Array.from(values)),
);
const findings = list(FindingSchema);
const extent = v.nullable(v.object({ first: number, last: number }));
const at = { rank, device: text };

/** Analysis of a series with values that the document does not contain. */
const analysed = {
  analysis: SeriesSchema,
  totalBytes: v.nullable(number),
  /** What was reached at the end of the run, before it freed its memory; null when nothing is known. */
  lastBytes: v.nullable(number),
  /** Growth reached at the stated horizon, bytes; null without one. */
  growthAtHorizon: v.nullable(number),
  /** Growth differs from zero at the 1 % level; false for running maxima. */
  significant: v.boolean(),
  /**
   * Growth that slows down without an end, with the length that it was fitted to; null for any other. Its projections
   * come from its logarithm, not from a line.
   */
  slowdown: v.nullable(
    v.object({ bytes: number, bend: number, steps: v.nullable(number), seconds: v.nullable(number) }),
  ),
  /** The growth exceeds the floor below which none is judged, at the stated horizon where there is one. */
  material: v.boolean(),
};

/** Input of TraceML's diagnosis: per rank the allocator's (else the device's) highest value of each step. */
const StepPeaksSchema = v.object({
  ranks: v.pipe(
    list(
      v.tuple([
        rank,
        v.object({
          stride: number,
          peaks: v.pipe(
            list(v.tuple([number, number])),
            v.transform((pairs) => new Map(pairs)),
          ),
        }),
      ]),
    ),
    v.transform((pairs) => new Map(pairs)),
  ),
  /** Largest capacity of a device, bytes; null when unknown. */
  totalBytes: v.nullable(number),
  sawGpu: v.boolean(),
});

/** Summary of one rank's samples for the rules, of bounded size. */
const RankSummarySchema = v.object({
  rank,
  /** Usable samples. */
  samples: count,
  /** Unix nanoseconds of the first one. */
  firstNs: nanoseconds,
  /** First time that consecutive rises of device memory add up to a tenth of the peak and at least 64 MiB. */
  spike: v.nullable(v.object({ at: nanoseconds, delta: number, rises: count })),
  /** Positive intervals between neighbouring samples, nanoseconds. */
  intervals: v.variant("kind", [
    v.object({ kind: v.literal("exact"), values: column }),
    v.object({ kind: v.literal("counted"), sizes: column, counts: column }),
  ]),
});

/**
 * Features of a recording at its full sampling rate: a few numbers for each series, for any length. Every comparison of
 * ranks works on these, so that recordings of a thousand ranks never need to be in memory together.
 */
export const FeaturesSchema = v.object({
  /** In the order of rank, device and metric. */
  series: list(v.object(analysed)),
  /** Facts about each series' samples besides its analysis, in the same order. */
  shapes: list(
    v.object({
      ...at,
      metric,
      /** Samples, unusable ones included. */
      rows: count,
      /** First and last step, and time in nanoseconds, of a usable sample; null when there is none. */
      steps: extent,
      time: extent,
    }),
  ),
  /** Device-used minus reserved memory, where both are known. */
  gaps: list(v.object({ ...analysed, shares: v.nullable(GapSharesSchema), lateBytes: v.nullable(number) })),
  /** Out-of-memory findings. */
  oom: findings,
  /** Findings about devices, their other users, and what the command left behind. */
  health: findings,
  /** Growth that one phase of the program causes alone. */
  phases: findings,
  /** A policy's phases are judged where the policy is. */
  judgedPhases: v.pipe(v.array(v.never()), v.maxLength(0)),
  /** Facts about each device besides its series. */
  devices: list(
    v.object({
      recorded: RecordedDeviceSchema,
      /** Ranks whose allocators use it, under their names for it; its own rank and name among them. */
      users: list(v.object(at)),
      /** False when the process lists contain none of the job's processes. */
      used: v.boolean(),
      /** Memory of processes outside the job; null when no source reports them. */
      tenants: v.nullable(v.object({ firstBytes: number, lowestBytes: number, peakBytes: number })),
      /** The memory of other processes moved so much that the device's used memory is not evidence about the job. */
      touched: v.boolean(),
      /** Only the job's processes are recorded: the effect of others on the device's used memory is unknown. */
      blind: v.boolean(),
    }),
  ),
  /** Peaks that drivers report for each rank. */
  jobPeaks: list(v.object({ ...at, bytes: number, totalBytes: v.nullable(number) })),
  gapFindings: findings,
  /** Releases of Stormlog whose rules its gap findings follow. */
  fragmentationRules: list(v.picklist(["0.3.10", "0.4.3"])),
  /** Thinned series of one rank, for comparisons with other ranks. */
  curves: list(
    v.object({
      ...at,
      metric,
      axis: v.picklist(["step", "time", "index"]),
      /** Unix nanoseconds of the first sample; null unless the axis is time. */
      firstNs: v.nullable(nanoseconds),
      /** Steps, seconds since the first sample, or indices. */
      x: column,
      bytes: column,
      grows: v.nullable(v.picklist(["leak", "rising"])),
    }),
  ),
  stepPeaks: StepPeaksSchema,
  ranks: v.object({
    kind: v.literal("ranks"),
    ranks: list(
      v.object({
        summary: RankSummarySchema,
        moments: v.nullable(v.object({ stride: number, steps: list(number), atNs: list(nanoseconds) })),
        device: text,
      }),
    ),
    worldSize: v.pipe(count, v.maxValue(MAX_RANK + 1)),
  }),
  /** What kind of program grows, by what the probe saw of it; a recording without a probe is one of a framework. */
  program: v.picklist(["framework", "python", "other"]),
  missing: v.record(text, count),
  /** Absent in those of earlier commits. */
  processes: v.optional(list(ProcessSchema), []),
  heaps: v.optional(list(SeriesSchema), []),
});
export type StoredFeatures = DeepReadonly<v.InferOutput<typeof FeaturesSchema>>;
