import type { AnalysisDocument } from "../../analysis/document.ts";
import type { AttributeMode } from "../../config/gate-request.ts";
import type { Recording } from "../../telemetry/recording/model.ts";
import type { Judgement } from "../../verdict/judgement.ts";

/** When the attribution run records its live memory: ascending, at least {@link MIN_SNAPSHOTS}. */
export type AttributionTimes =
  | { readonly kind: "steps"; readonly at: readonly number[] }
  | { readonly kind: "seconds"; readonly at: readonly number[] };

/** With two snapshots churn looks like a leak; three at the same phase show that a line keeps growing. */
const MIN_SNAPSHOTS = 3;

/** Fractions of the run at which live memory is recorded: after warm-up, and safe if a run has a few steps less. */
const FRACTIONS = [0.35, 0.5, 0.65, 0.8, 0.92] as const;

/** Whether a run is repeated to find the growing line. A higher, flat peak has its lines in a snapshot instead. */
export function attributionWanted(
  mode: AttributeMode,
  judgement: Judgement | null,
  analysis: AnalysisDocument | null,
): boolean {
  if (mode === "off") return false;
  if (mode === "always") return true;
  if (judgement === null || judgement.verdict === "pass") return false;
  const grows = analysis?.series.some(({ class: label }) => label === "leak" || label === "rising") ?? false;
  return judgement.checks.some(
    ({ verdict, aspect }) =>
      (verdict === "fail" || verdict === "warn") && (aspect === "growth" || aspect === "class" || grows),
  );
}

/** The last step any series of the recording reached; null when it has no steps. */
function lastStep(recording: Recording): number | null {
  let last: number | null = null;
  for (const { steps } of recording.tables) {
    for (const step of steps ?? []) if (step > (last ?? 0)) last = step;
  }
  return last;
}

/** Snapshot times: fractions of the recording's steps, else of `durationS` seconds; null when the run is too short. */
export function attributionTimes(recording: Recording, durationS: number | null): AttributionTimes | null {
  const last = lastStep(recording);
  if (last !== null) {
    const at = [...new Set(FRACTIONS.map((fraction) => Math.round(fraction * last)))].filter((step) => step > 0);
    if (at.length >= MIN_SNAPSHOTS) return { kind: "steps", at };
  }
  if (durationS === null || durationS < 0.2) return null;
  return { kind: "seconds", at: FRACTIONS.map((fraction) => Math.round(fraction * durationS * 1000) / 1000) };
}

/** The environment that turns attribution on in the measured processes. */
export function attributionEnvironment(
  times: AttributionTimes,
  nodeAttribution: string,
  nodeOptions: string | undefined,
): Readonly<Record<string, string>> {
  // Node reads NODE_OPTIONS like a shell line: quotes and backslashes in a path have to be escaped.
  const quoted = `"${nodeAttribution.replace(/[\\"]/g, "\\$&")}"`;
  return {
    STORMLOG_GATE_ATTRIBUTE: "on",
    STORMLOG_GATE_ATTRIBUTE_AT: `${times.kind}:${times.at.join(",")}`,
    NODE_OPTIONS: [nodeOptions ?? "", `--require ${quoted}`].join(" ").trim(),
  };
}
