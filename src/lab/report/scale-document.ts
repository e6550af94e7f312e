import * as v from "valibot";

const bytes = v.nullable(v.number());
const text = v.nullable(v.string());
const size = v.pipe(v.number(), v.integer(), v.minValue(1));
const verdict = v.picklist(["pass", "warn", "fail", "unjudged", "error"]);

const probeSchema = v.object({
  /** The size in steps. */
  value: size,
  steps: size,
  /** Whether the leaky state failed and the fixed one passed. */
  visible: v.boolean(),
  leaky: verdict,
  /** Null where it was not judged: a size at which the leak is silent needs no run of the fixed state. */
  fixed: v.nullable(verdict),
  /** The check nearest to its limit, or farthest beyond it; null without a check. */
  check: v.nullable(v.object({ aspect: v.picklist(["peak", "growth"]), metric: v.string(), device: v.string() })),
  /** Excess of the leaky state over the fixed one by that check, and the smallest detected with probability 0.9. */
  excess_bytes: bytes,
  mde_bytes: bytes,
  growth_bytes: bytes,
  slope_bytes_per_step: bytes,
  class: text,
  /** Size of the fixed runs of its baseline. */
  baseline: size,
  runs: v.number(),
  seconds: v.number(),
  /** Directory of the bundles, relative to the document; null where they were not kept. */
  bundle: text,
});
export type ScaleProbe = v.InferOutput<typeof probeSchema>;

/** Whether the leak was seen. A warning counts as silent in the search, a size that was not judged as neither. */
export function sightOf({
  leaky,
  visible,
}: Pick<ScaleProbe, "leaky" | "visible">): "visible" | "warned" | "silent" | "unjudged" {
  if (visible) return "visible";
  // Red, but the fixed state did not pass, so the cause may be another: not judged.
  return ({ pass: "silent", warn: "warned", fail: "unjudged", unjudged: "unjudged", error: "unjudged" } as const)[
    leaky
  ];
}

const answerSchema = v.variant("kind", [
  v.object({
    kind: v.literal("visible"),
    /** The smallest visible size, and the largest that was judged and not red. */
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
    /** Of earlier documents: the extrapolated size at which it becomes visible. */
    extrapolated: v.nullable(v.number()),
  }),
  v.object({
    kind: v.literal("broken"),
    reason: v.string(),
    /** The boundary so far. */
    at: v.nullable(size),
    below: v.nullable(size),
    /** Directory of the bundles of the size that ended the search, relative to the document; null without any. */
    bundle: text,
  }),
]);
/** The answer of a search. */
export type ScaleAnswer = v.InferOutput<typeof answerSchema>;

/** The document of a search: `lab-scale.json`, and what `lab scale --json` prints. Sizes in bytes. */
export const ScaleDocumentSchema = v.object({
  schema: v.literal("stormlog.lab-scale/1"),
  generated_at_utc: v.string(),
  pattern: v.string(),
  title: v.string(),
  /** What a search varies. */
  by: v.literal("steps"),
  from: size,
  to: size,
  /** Largest ratio of the visible to the silent size at the end, unless they are neighbours. */
  factor: v.number(),
  /** The lab's scale, and the constant batch; null = the scale's. */
  scale: v.string(),
  steps: v.null(),
  batch: v.nullable(size),
  backend: text,
  device_model: text,
  framework_version: text,
  probes: v.array(probeSchema),
  answer: answerSchema,
});
export type ScaleDocument = v.InferOutput<typeof ScaleDocumentSchema>;
