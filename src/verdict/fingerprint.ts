import type { MeasuredRun, Measurements } from "../analysis/measurements.ts";
import { differentCommands, isIdentityField } from "../baseline/identity.ts";
import { median } from "../stats/order-statistics.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import type { Check, FingerprintDifference } from "./model/judgement.ts";

/** Whether a fingerprint describes a scenario of a config file. */
const isDeclared = (fingerprint: Fingerprint | null): boolean => (fingerprint?.scenario_definition ?? null) !== null;

/** A command that both sides know and that does other work. Records of one definition are of one command. */
function commandsDiffer(baseline: Fingerprint, candidate: Fingerprint): boolean {
  const same = isDeclared(baseline) && baseline.scenario_definition === candidate.scenario_definition;
  return !same && differentCommands(baseline.command ?? null, candidate.command ?? null);
}

/**
 * Fields in which two fingerprints differ, in the order of their names. An absent fingerprint differs in nothing, nor
 * does an unknown field of the context.
 */
export function compareFingerprints(
  baseline: Fingerprint | null,
  candidate: Fingerprint | null,
): readonly FingerprintDifference[] {
  if (baseline === null || candidate === null) return [];
  const fields = [...new Set([...Object.keys(baseline), ...Object.keys(candidate)])].sort();
  return fields.flatMap((field): FingerprintDifference[] => {
    const ours = Object.hasOwn(baseline, field) ? (baseline[field] ?? null) : null;
    const theirs = Object.hasOwn(candidate, field) ? (candidate[field] ?? null) : null;
    if (field === "command" ? !commandsDiffer(baseline, candidate) : ours === theirs) return [];
    const kind = isIdentityField(field) ? "identity" : "context";
    if (kind === "context" && (ours === null || theirs === null)) return [];
    return [{ field, kind, baseline: ours, candidate: theirs }];
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

/**
 * Fraction of the baseline's steps by which runs may always differ. Observed steps begin with the first sample, which
 * comes late in a short run on a busy machine: 100 and 115 of the same 120 were seen.
 */
const STEPS_TOLERANCE = 0.4;

const stepsOf = (runs: readonly MeasuredRun[]): readonly number[] => runs.flatMap(({ steps }) => steps ?? []);

/**
 * The number of steps, where it differs by more than runs vary: the candidate's median lies outside the range of the
 * baseline's runs by more than that range (programs that run for a time), and by more than two fifths (programs that
 * count their steps). Runs of the base commit in the candidate's session do not count: they are as long as the
 * candidate's.
 */
export function stepsDifference(baseline: Measurements | null, candidate: Measurements): FingerprintDifference | null {
  const session = candidate.runs[0]?.session;
  const before = stepsOf(baseline?.runs.filter((run) => run.session !== session) ?? []);
  const now = stepsOf(candidate.runs);
  if (before.length === 0 || now.length === 0) return null;
  const [lowest, highest, ours] = [Math.min(...before), Math.max(...before), median(now)];
  const tolerance = Math.max(highest - lowest, STEPS_TOLERANCE * median(before));
  if (ours >= lowest - tolerance && ours <= highest + tolerance) return null;
  return { field: "steps", kind: "context", baseline: Math.round(median(before)), candidate: Math.round(ours) };
}

/** Why a scenario of the config file cannot be compared: its baseline was made by another command. Null when it can. */
export function otherCommand(
  candidate: Fingerprint | null,
  differences: readonly FingerprintDifference[],
): string | null {
  const command = differences.find(({ field }) => field === "command");
  return command !== undefined && isDeclared(candidate)
    ? `the baseline was made by another command: ${command.baseline}`
    : null;
}

/**
 * The checks of a scenario of the config file whose number of steps differs from the baseline's. Fewer steps hide
 * growth and peaks, so nothing within its limit is known to pass; a breach stays one. More steps grow by more, so a
 * breach is not known to be one; what is within its limit stays there. A leak that the baseline has not is one anyway.
 */
export function withoutComparedSteps(
  checks: readonly Check[],
  candidate: Fingerprint | null,
  difference: FingerprintDifference | null,
): readonly Check[] {
  if (difference === null || !isDeclared(candidate)) return checks;
  const fewer = Number(difference.candidate) < Number(difference.baseline);
  const reason = `the baseline's runs made ${difference.baseline} steps and these runs ${difference.candidate}`;
  return checks.map((check) => {
    const affected = check.limit === "baseline" && (check.kind === "peak" || check.kind === "growth");
    const doubtful = fewer ? check.verdict === "pass" || check.verdict === "warn" : check.verdict === "fail";
    if (!affected || !check.gating || !doubtful) return check;
    const none = { confirmed: false, improved: false, needs_more_runs: 0, needs_base_runs: 0 };
    return { ...check, ...none, verdict: "unjudged", reason: `${reason}, so the ${check.kind} cannot be compared` };
  });
}
