import * as v from "valibot";
import { invalidInput } from "../../core/errors.ts";
import { issueText } from "../../core/issue-text.ts";
import type { Fingerprint } from "../../telemetry/recording/model.ts";

/** Whether the gate caught the leak and passed the fixed state. */
export const LAB_OUTCOMES = ["caught", "warned", "not-visible", "false-alarm", "broken", "skipped"] as const;
export type LabOutcome = (typeof LAB_OUTCOMES)[number];

const bytes = v.nullable(v.number());
const text = v.nullable(v.string());

/** Where a state ran out of memory, and the bytes it held; null = unknown. */
const outOfMemorySchema = v.object({ device: text, at_bytes: bytes });
export type LabOutOfMemory = v.InferOutput<typeof outOfMemorySchema>;

const stateSchema = v.object({
  verdict: v.picklist(["pass", "warn", "fail", "unjudged", "error"]),
  confirmed: v.boolean(),
  /** The bundle, from the document's own directory. */
  bundle: v.string(),
  runs: v.number(),
  peak_bytes: bytes,
  growth_bytes: bytes,
  slope_bytes_per_step: bytes,
  slope_bytes_per_s: bytes,
  class: text,
  /** Smallest growth that the judged series could have shown. */
  mde_bytes: bytes,
  /** Share of validation images classified right; null where nothing is learned. */
  accuracy: v.nullable(v.number()),
  /** Why the state could not be judged; null when it was. */
  error: text,
  /** Peak of the allocator's reserved memory, beside a series of allocated memory; absent in earlier documents. */
  reserved_peak_bytes: v.optional(bytes),
  /** Set when the state ran out of memory; absent in earlier documents. */
  out_of_memory: v.optional(v.nullable(outOfMemorySchema)),
});
export type LabState = v.InferOutput<typeof stateSchema>;

const patternSchema = v.object({
  name: v.string(),
  title: v.string(),
  framework: v.string(),
  outcome: v.picklist(LAB_OUTCOMES),
  /** Why it was skipped or is broken; null otherwise. */
  reason: text,
  /** The series of peaks and slopes; null when none was measured. */
  series: v.nullable(v.object({ device: v.string(), metric: v.string(), rank: v.optional(v.number()) })),
  /** What the leaky state keeps with every step, by its construction. */
  leak_bytes_per_step: bytes,
  steps: v.nullable(v.number()),
  leaky: v.nullable(stateSchema),
  fixed: v.nullable(stateSchema),
  /** Leaky peak over fixed peak; where the leaky state ran out of memory, the least it would have been. */
  ratio: v.nullable(v.number()),
  /** The line named first, and whether it lies between the leak's marks in the pattern's file. */
  line: text,
  line_in_leak: v.nullable(v.boolean()),
});
export type LabPattern = v.InferOutput<typeof patternSchema>;

export const LabDocumentSchema = v.object({
  schema: v.literal("stormlog.lab/1"),
  generated_at_utc: text,
  scale: text,
  /** Backend of the runs ("cpu", "cuda", "rocm", "mps") and the model of the device; null when nothing was measured. */
  backend: text,
  device_model: text,
  framework_version: text,
  patterns: v.array(patternSchema),
});

/** The document of a round of the leak lab: `lab.json`, and what `lab run --json` prints. Sizes in bytes. */
export type LabDocument = v.InferOutput<typeof LabDocumentSchema>;

/** Read a round's document. @throws GateError LAB_INVALID (exit 5) */
export function parseLabDocument(value: unknown, where: string): LabDocument {
  const result = v.safeParse(LabDocumentSchema, value);
  if (result.success) return result.output;
  throw invalidInput(
    "LAB_INVALID",
    issueText(result.issues[0]),
    where,
    "Name a file that `stormlog-gate lab run` wrote.",
  );
}

/** The environment that a document of the lab reports. */
export type LabEnvironment = Pick<LabDocument, "backend" | "device_model" | "framework_version">;

const nonEmpty = (value: Fingerprint[string] | undefined): string | null =>
  typeof value === "string" && value !== "" ? value : null;

/** A fingerprint as fields of the lab's documents, null where unknown. Without a device the model is the CPU's. */
export function labEnvironment(fingerprint: Fingerprint): LabEnvironment {
  const framework = [nonEmpty(fingerprint.framework), nonEmpty(fingerprint.framework_version)];
  return {
    backend: nonEmpty(fingerprint.backend),
    device_model: nonEmpty(fingerprint.device_model) ?? nonEmpty(fingerprint.cpu),
    framework_version: framework.filter((part) => part !== null).join(" ") || null,
  };
}
