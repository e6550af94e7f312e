import { measuredRun } from "../analysis/measured-run.ts";
import { acceptRuns, emptyRecord } from "../baseline/record.ts";
import type { BaselineStore, StoredRecord } from "../baseline/store.ts";
import { GateError, invalidInput } from "../core/errors.ts";
import { readBundle } from "../report/bundle.ts";
import type { ScenarioReport } from "../report/model.ts";

/** Candidate runs of a scenario that ended well, as they would be judged. */
function acceptedRuns(scenario: ScenarioReport, timeIso: string) {
  return scenario.runs.flatMap(({ role, info, analysis }) => {
    const ok = info.exit.kind === "exited" && info.exit.code === 0;
    if (role !== "candidate" || !ok || analysis === null) return [];
    return [
      { measured: measuredRun(analysis, { session: info.session, commit: info.commit }), timeIso, approved: true },
    ];
  });
}

/**
 * Accept what a bundle measured as the new normal: each of its scenarios opens a new epoch with the bundle's runs.
 * @throws GateError BUNDLE_… (exit 5), NOTHING_TO_ACCEPT when no run of it ended well, and those of the store
 */
export async function acceptBundle(
  bundle: string,
  reason: string,
  store: BaselineStore,
): Promise<readonly StoredRecord[]> {
  const { report } = await readBundle(bundle);
  if (report.scenarios.length === 0) throw invalidInput("NOTHING_TO_ACCEPT", `${bundle} has no scenario`, bundle);
  const records: StoredRecord[] = [];
  for (const scenario of report.scenarios) {
    const runs = acceptedRuns(scenario, report.generated_at_utc);
    if (runs.length === 0) {
      throw new GateError("NOTHING_TO_ACCEPT", `no run of scenario "${scenario.scenario}" ended well`, {
        kind: "invalid-input",
        where: bundle,
      });
    }
    records.push(
      await store.update(scenario.scenario, scenario.fingerprint, (current) =>
        acceptRuns(current ?? emptyRecord(scenario.scenario, { ...scenario.fingerprint }), runs, reason),
      ),
    );
  }
  return records;
}
