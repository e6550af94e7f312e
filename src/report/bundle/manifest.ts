import * as v from "valibot";

export const MANIFEST_FILE = "manifest.json";

/**
 * What a bundle holds, written last. The keys follow Stormlog's own diagnostic manifests, with sizes and digests added;
 * `risk_detected` is true when the gate found something (warn or fail).
 */
export const BundleManifestSchema = v.object({
  version: v.literal(1),
  created_iso: v.string(),
  command_line: v.array(v.string()),
  files: v.array(
    v.object({ path: v.string(), bytes: v.pipe(v.number(), v.integer(), v.minValue(0)), sha256: v.string() }),
  ),
  /** Null while the gate has not ended. */
  exit_code: v.nullable(v.pipe(v.number(), v.integer())),
  risk_detected: v.boolean(),
  /** False when something is missing, or when the gate was ended before it could finish. */
  complete: v.boolean(),
  missing: v.array(v.object({ path: v.string(), reason: v.string() })),
});
export type BundleManifest = v.InferOutput<typeof BundleManifestSchema>;
