import * as v from "valibot";
import type { DeepReadonly } from "../../core/json.ts";
import { METRICS } from "../../telemetry/recording/metrics.ts";

const LARGEST = 1e15;
/** Frames of a flame graph. */
export const MAX_FRAMES = 600;

const bytes = v.pipe(v.number(), v.minValue(-LARGEST), v.maxValue(LARGEST));
const text = v.pipe(v.string(), v.maxLength(500));
const rows = <T extends v.GenericSchema>(schema: T) => v.pipe(v.array(schema), v.maxLength(64));

/** A part of the peak, and of the one that it is compared with; null without one. */
const Sizes = { bytes, compared_bytes: v.nullable(bytes) };

/** What a breached peak consists of: the same memory by line, by category and by phase. Texts are the program's. */
export const PeakReportSchema = v.object({
  rank: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  device: text,
  metric: v.picklist(METRICS),
  /** "base": a run of the base. "baseline": the composition that was stored with the baseline. Null: nothing. */
  compared_with: v.nullable(v.picklist(["base", "baseline"])),
  /** The judged peak, and the baseline's. */
  ...Sizes,
  /** The sum of all parts. The rest of the peak is unexplained. */
  explained: v.object(Sizes),
  /** The lines that differ most, or hold most; `file:line`, or the module where no line is known. */
  lines: rows(v.object({ name: text, function: text, category: v.nullable(text), phase: v.nullable(text), ...Sizes })),
  /** They add up to what is explained; empty where no category is seen. */
  categories: rows(v.object({ name: text, ...Sizes })),
  /** By the phase in which the memory was allocated; "" outside of any. */
  phases: rows(v.object({ name: text, ...Sizes })),
  /** Categories that the source cannot see. */
  unseen: rows(text),
  /** Arguments, settings, versions and sizes of models that differ; null where one side has none. */
  inputs: rows(v.object({ name: text, value: v.nullable(text), compared: v.nullable(text) })),
  /** The peak by stack, outermost frames first, each frame before those that it calls: depth, name, bytes. */
  flame: v.pipe(
    v.array(v.tuple([v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(64)), text, bytes])),
    v.maxLength(MAX_FRAMES),
  ),
});

/** Two peaks as stacked bars, for a picture; null without a comparison on the second. */
export const StackedPeaksSchema = v.object({ rows: rows(v.object({ name: text, ...Sizes })), ...Sizes });

export type PeakReport = DeepReadonly<v.InferOutput<typeof PeakReportSchema>>;
export type PeakRow = PeakReport["categories"][number];
export type StackedPeaks = DeepReadonly<v.InferOutput<typeof StackedPeaksSchema>>;
