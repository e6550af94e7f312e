import * as v from "valibot";
import { assertNever } from "../../core/errors.ts";

/** What of a run is made larger. */
export const SCALE_AXES = ["steps", "batch", "epochs"] as const;
export type ScaleAxis = (typeof SCALE_AXES)[number];

const bytes = v.nullable(v.number());
const text = v.nullable(v.string());
const size = v.pipe(v.number(), v.integer(), v.minValue(1));
const verdict = v.picklist(["pass", "warn", "fail", "unjudged", "error"]);

const probeSchema = v.object({
  /** The size: steps, images in a batch, or epochs. */
  value: size,
  steps: size,
  /** Where theory had the answer when this size was chosen; null = it did not know. */
  predicted: v.nullable(v.number()),
  /** Whether the leaky state failed and the fixed one passed. */
  visible: v.boolean(),
  leaky: verdict,
  /** Null where it was not judged: a size at which the leak is silent needs no proof that the fixed state is. */
  fixed: v.nullable(verdict),
  /** The check that came nearest to red, or went farthest beyond; null when there was none. */
  check: v.nullable(v.object({ aspect: v.picklist(["peak", "growth"]), metric: v.string(), device: v.string() })),
  /**
   * What the leaky state had more than the fixed one by that check, and the smallest that the check finds nine times in
   * ten.
   */
  excess_bytes: bytes,
  mde_bytes: bytes,
  growth_bytes: bytes,
  slope_bytes_per_step: bytes,
  class: text,
  /** Size of the fixed runs that it was judged by. */
  baseline: size,
  runs: v.number(),
  seconds: v.number(),
  /** Directory of the bundles, from the document's own; null where they were not kept. */
  bundle: text,
});
export type ScaleProbe = v.InferOutput<typeof probeSchema>;

/**
 * What was seen of the leak at a size. A warning is not red, so it counts as silent in the search; what was not judged
 * counts as neither.
 */
export function sightOf({
  leaky,
  visible,
}: Pick<ScaleProbe, "leaky" | "visible">): "visible" | "warned" | "silent" | "unjudged" {
  if (visible) return "visible";
  switch (leaky) {
    case "pass":
      return "silent";
    case "warn":
      return "warned";
    case "fail": // Red, and its fixed state did not prove that the leak is why.
    case "unjudged":
    case "error":
      return "unjudged";
    default:
      return assertNever(leaky);
  }
}

const answerSchema = v.variant("kind", [
  v.object({
    kind: v.literal("visible"),
    /** The smallest size seen visible, and the largest that was judged and not red. */
    at: size,
    below: size,
    excess_bytes: bytes,
    mde_bytes: bytes,
  }),
  v.object({ kind: v.literal("always"), at: size, excess_bytes: bytes, mde_bytes: bytes }),
  v.object({
    kind: v.literal("never"),
    to: size,
    excess_bytes: bytes,
    mde_bytes: bytes,
    /** Where it would become visible if it went on as measured; never measured. Null = it does not grow. */
    extrapolated: v.nullable(v.number()),
  }),
  v.object({
    kind: v.literal("broken"),
    reason: v.string(),
    /** What was known until then. */
    at: v.nullable(size),
    below: v.nullable(size),
    /**
     * Directory of the bundles of the size that ended the search, from the document's own; null where there are none.
     */
    bundle: text,
  }),
]);
/** What was found. */
export type ScaleAnswer = v.InferOutput<typeof answerSchema>;

/** The document of a search: `lab-scale.json`, and what `lab scale --json` prints. Sizes in bytes. */
export const ScaleDocumentSchema = v.object({
  schema: v.literal("stormlog.lab-scale/1"),
  generated_at_utc: v.string(),
  pattern: v.string(),
  title: v.string(),
  by: v.picklist(SCALE_AXES),
  from: size,
  to: size,
  /** How near to each other the silent and the visible size are at the end, unless they are neighbours. */
  factor: v.number(),
  /** The lab's scale, and what is not varied; null = the scale's own. */
  scale: v.string(),
  steps: v.nullable(size),
  batch: v.nullable(size),
  backend: text,
  device_model: text,
  framework_version: text,
  theory: v.object({
    /** What a step keeps by the pattern's own statement, at the lower bound where that depends on the size. */
    stated_bytes_per_step: bytes,
    /** What a run of size x keeps by it: constant + per_unit * x. */
    kept: v.nullable(v.object({ constant: v.number(), per_unit: v.number() })),
    /** What has to add up before the gate is red, by its rules and the noise of the first fixed runs. */
    detectable: v.nullable(v.object({ aspect: v.picklist(["peak", "growth"]), bytes: v.number() })),
    /** Where that places the answer, before any leaky run; null = nowhere, for nothing is kept. */
    guess: v.nullable(v.number()),
    /** The guess over the answer: 2 = twice as large as what was found. Null where one of them is not known. */
    off: v.nullable(v.number()),
  }),
  probes: v.array(probeSchema),
  answer: answerSchema,
});
export type ScaleDocument = v.InferOutput<typeof ScaleDocumentSchema>;
