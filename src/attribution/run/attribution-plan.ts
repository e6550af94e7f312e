import type { GrowthStretch } from "../../analysis/growth/growth-stretch.ts";
import type { AnalysisDocument } from "../../analysis/series/document.ts";
import type { AttributeMode } from "../../config/gate-request.ts";
import { withPreload } from "../../core/probe-directory.ts";
import { isCounted } from "../../telemetry/recording/metrics.ts";
import type { Recording } from "../../telemetry/recording/model.ts";
import type { Judgement } from "../../verdict/model/judgement.ts";
import type { SeriesKey } from "../../verdict/model/series-index.ts";

/** When the attribution run records its live memory: ascending, at least {@link MIN_MOMENTS}. */
export interface AttributionTimes {
  readonly kind: "steps" | "seconds";
  readonly at: readonly number[];
}

/** How much of a program is recorded. `light` samples allocations alone and never walks the heap. */
export type AttributionDepth = "on" | "light";

/** A line is named when it grows at four moments after the onset, which needs five. */
export const MIN_MOMENTS = 5;

/**
 * Fractions of the stretch from the onset to the end at which live memory is recorded. The last is reached even by a
 * run with a few steps less. Growth from the beginning may be a warm-up, so its first quarter is left out.
 */
const AFTER_ONSET = [0.08, 0.23, 0.38, 0.53, 0.68, 0.82, 0.94] as const;
const AFTER_WARM_UP = [0.25, 0.37, 0.49, 0.61, 0.73, 0.84, 0.94] as const;
/** An onset within this share of the run is its beginning. */
const BEGINNING_SHARE = 0.1;
/** Shorter stretches, seconds, have no room for the moments. */
const MIN_STRETCH_S = 0.1;

/** Share of a run after which it has settled, and steps from which on it is counted in steps. */
const SETTLED_SHARE = 0.4;
const MIN_SETTLED_STEPS = 24;

/** Whether a run is repeated to find the growing line. A higher, flat peak has its lines in a snapshot instead. */
export function attributionWanted(
  mode: AttributeMode,
  judgement: Judgement | null,
  analysis: AnalysisDocument | null,
): boolean {
  if (mode === "off") return false;
  if (mode === "always") return true;
  if (judgement === null || judgement.verdict === "pass") return false;
  // No line of the program holds what is counted, or outlives it.
  const hasLines = ({ metric }: SeriesKey): boolean => !isCounted(metric) && metric !== "left_behind";
  const series = analysis?.series.filter(hasLines) ?? [];
  const rises = series.some(({ class: label }) => ["leak", "rising", "step"].includes(label));
  return judgement.checks.filter(hasLines).some(
    ({ verdict, aspect, kept_bytes: kept }) =>
      // Growth that the allocator keeps has no line.
      (verdict === "fail" || verdict === "warn") &&
      kept === undefined &&
      (aspect === "growth" || aspect === "class" || rises),
  );
}

function positions(stretch: GrowthStretch): readonly number[] {
  const { start, end } = stretch;
  if (stretch.kind === "growth") {
    const { onset } = stretch;
    const early = onset - start < BEGINNING_SHARE * (end - start);
    return (early ? AFTER_WARM_UP : AFTER_ONSET).map((fraction) => onset + fraction * (end - onset));
  }
  const { before, after } = stretch;
  const earlier = [0.5, 0.9].map((fraction) => start + fraction * (before - start));
  // Of the time after a jump.
  return [...earlier, ...[0.1, 0.35, 0.65, 0.94].map((fraction) => after + fraction * (end - after))];
}

/** The moments of an attribution run within the judged stretch; null when it is too short to name a line. */
export function attributionTimes(stretch: GrowthStretch): AttributionTimes | null {
  const inSteps = stretch.unit === "steps";
  const onset = stretch.kind === "growth" ? stretch.onset : stretch.after;
  if (!inSteps && stretch.end - onset < MIN_STRETCH_S) return null;
  const rounded = positions(stretch).map((at) => (inSteps ? Math.round(at) : Math.round(at * 1000) / 1000));
  // The step of the onset itself is before the growth, and the last may not be reached.
  const first = stretch.kind === "growth" ? onset : 0;
  const at = [...new Set(rounded)].filter((one) => one > first && one < stretch.end);
  return at.length < MIN_MOMENTS ? null : { kind: stretch.unit, at };
}

/** A run in which nothing grew, past its start: recording while a program imports its libraries takes long. */
export function settledPart(recording: Recording, durationS: number): GrowthStretch {
  let last = 0;
  for (const { steps } of recording.tables) for (const step of steps ?? []) if (step > last) last = step;
  const [unit, end] = last >= MIN_SETTLED_STEPS ? (["steps", last] as const) : (["seconds", durationS] as const);
  return { kind: "growth", unit, start: 0, onset: SETTLED_SHARE * end, end, bytes: 0 };
}

/** The environment that turns attribution on in the measured processes. */
export function attributionEnvironment(
  times: AttributionTimes,
  nodeAttribution: string,
  nodeOptions: string | undefined,
  depth: AttributionDepth = "on",
): Readonly<Record<string, string>> {
  return {
    STORMLOG_GATE_ATTRIBUTE: depth,
    STORMLOG_GATE_ATTRIBUTE_AT: `${times.kind}:${times.at.join(",")}`,
    // The lightest kind must not change the program at all.
    ...(depth === "on" ? { STORMLOG_GATE_STACKS: "1" } : {}),
    NODE_OPTIONS: withPreload(nodeOptions, nodeAttribution),
  };
}
