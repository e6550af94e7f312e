import { isIdentityField } from "../baseline/identity.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import type { FingerprintDifference } from "./judgement.ts";

/** Fields in which two fingerprints differ, in the order of their names. An absent fingerprint differs in nothing. */
export function compareFingerprints(
  baseline: Fingerprint | null,
  candidate: Fingerprint | null,
): readonly FingerprintDifference[] {
  if (baseline === null || candidate === null) return [];
  const fields = [...new Set([...Object.keys(baseline), ...Object.keys(candidate)])].sort();
  return fields.flatMap((field): FingerprintDifference[] => {
    const ours = Object.hasOwn(baseline, field) ? (baseline[field] ?? null) : null;
    const theirs = Object.hasOwn(candidate, field) ? (candidate[field] ?? null) : null;
    if (ours === theirs) return [];
    return [{ field, kind: isIdentityField(field) ? "identity" : "context", baseline: ours, candidate: theirs }];
  });
}

/** The differences that forbid a comparison: identity fields known, and different, on both sides. */
export function mismatches(differences: readonly FingerprintDifference[]): readonly FingerprintDifference[] {
  return differences.filter(
    ({ kind, baseline, candidate }) => kind === "identity" && baseline !== null && candidate !== null,
  );
}

/** "device_model (A100 → H100), world_size (1 → 8)": baseline first. */
export function describeMismatches(differences: readonly FingerprintDifference[]): string {
  return differences.map(({ field, baseline, candidate }) => `${field} (${baseline} → ${candidate})`).join(", ");
}
