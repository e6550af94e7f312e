import * as v from "valibot";

export const MANIFEST_FILE = "manifest.json";

/** The contents of a bundle, with the keys of Stormlog's manifests; `risk_detected` is true for warn and fail. */
export const BundleManifestSchema = v.object({
  version: v.literal(1),
  created_iso: v.string(),
  command_line: v.array(v.string()),
  files: v.array(
    v.object({ path: v.string(), bytes: v.pipe(v.number(), v.integer(), v.minValue(0)), sha256: v.string() }),
  ),
  /** Null until the gate has ended. */
  exit_code: v.nullable(v.pipe(v.number(), v.integer())),
  risk_detected: v.boolean(),
  /** False when files are missing, or when the gate was killed. */
  complete: v.boolean(),
  missing: v.array(v.object({ path: v.string(), reason: v.string() })),
});
export type BundleManifest = v.InferOutput<typeof BundleManifestSchema>;
