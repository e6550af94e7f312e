import { NextStep } from "../baseline/answer.ts";
import { type LoadContext, loadFirstBaseline } from "../baseline/load.ts";
import type { GateReport } from "../report/model/gate-report.ts";
import { compareFingerprints, describeMismatches, mismatches } from "../verdict/fingerprint.ts";
import { DEFAULT_POLICY } from "../verdict/model/defaults.ts";

/**
 * Why a given store cannot judge a pattern in the environment of its first run: it has no record of the pattern, a
 * record of another environment only, or too few runs. Null for any other cause: a store that is absent or damaged is
 * an error, which a round must not hide by measuring its own baseline.
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
  if (differing.length > 0) return `${spec} has records of another environment only (${describeMismatches(differing)})`;
  const { runs } = answer.summary;
  const needed = DEFAULT_POLICY.minBaselineRuns;
  return runs < needed ? `${spec} has ${runs} runs of it and needs ${needed}` : null;
}
