import { NextStep } from "../baseline/answer.ts";
import { type LoadContext, loadFirstBaseline } from "../baseline/load.ts";
import type { GateReport } from "../report/documents/model.ts";
import { DEFAULT_POLICY } from "../verdict/defaults.ts";
import { compareFingerprints, describeMismatches, mismatches } from "../verdict/fingerprint.ts";

/**
 * Why a given store has nothing to judge a pattern by in the environment that its first run was measured in: no record
 * of it, one of another environment only, or one of too few runs. Null when that is not what kept the run from being
 * judged: a store that is absent or damaged is nothing a round may pass over by measuring a baseline of its own.
 * @param report of the pattern's fixed state, judged by that store
 * @throws GateError as `loadFirstBaseline`
 */
export async function lackingRecord(spec: string, report: GateReport, context: LoadContext): Promise<string | null> {
  const [scenario] = report.scenarios;
  if (scenario === undefined) return null;
  const answer = await loadFirstBaseline([spec], scenario.scenario, scenario.fingerprint, context);
  if (answer.kind === "absent") {
    return !answer.missing && answer.nextStep === NextStep.record ? answer.reason : null;
  }
  const differing = mismatches(compareFingerprints(answer.measurements.fingerprint, scenario.fingerprint));
  if (differing.length > 0) return `${spec} knows another environment only (${describeMismatches(differing)})`;
  const { runs } = answer.summary;
  return runs < DEFAULT_POLICY.minBaselineRuns ? `${spec} has ${runs} runs of it, too few` : null;
}
