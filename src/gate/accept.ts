import { measuredRun } from "../analysis/measured-run.ts";
import type { MeasuredRun } from "../analysis/measurements.ts";
import { fingerprintHash } from "../baseline/identity.ts";
import { runsOfJobs } from "../baseline/job-runs.ts";
import { acceptRuns, emptyRecord, type NewRun } from "../baseline/record.ts";
import type { BaselineStore, StoredRecord } from "../baseline/store.ts";
import { invalidInput } from "../core/errors.ts";
import { groupBy } from "../core/group-by.ts";
import { keptSession } from "../measure/session/session.ts";
import { readBundle } from "../report/bundle/bundle.ts";
import type { ScenarioReport } from "../report/documents/model.ts";

/** The successful candidate runs of a scenario, as judged. */
export function successfulRuns(
  { runs }: ScenarioReport,
  sessionOf: (session: string) => string,
): readonly MeasuredRun[] {
  return runs.flatMap(({ role, info, analysis }) => {
    const ok = info.exit.kind === "exited" && info.exit.code === 0;
    if (role !== "candidate" || !ok || analysis === null) return [];
    return [measuredRun(analysis, { session: sessionOf(info.session), commit: info.commit })];
  });
}

/** A scenario of one of the bundles, with its runs. */
interface Accepted {
  readonly scenario: ScenarioReport;
  readonly runs: readonly NewRun[];
}

async function acceptedScenarios(bundle: string): Promise<readonly Accepted[]> {
  const { report } = await readBundle(bundle);
  if (report.scenarios.length === 0) throw invalidInput("NOTHING_TO_ACCEPT", `${bundle} has no scenario`, bundle);
  return report.scenarios.map((scenario) => {
    const timeIso = report.generated_at_utc;
    const { command } = scenario.fingerprint;
    const measured = successfulRuns(scenario, (session) => keptSession(session, timeIso));
    // Ranks that were measured separately are runs of their job.
    const runs = runsOfJobs(measured).map((run) => ({ measured: run, timeIso, approved: true, command }));
    if (runs.length > 0) return { scenario, runs };
    throw invalidInput("NOTHING_TO_ACCEPT", `scenario "${scenario.scenario}" has no successful run`, bundle);
  });
}

/**
 * Accept the measurements of bundles as the new baseline: each scenario, in each environment, opens a new epoch with
 * its runs of all bundles. All bundles are read, and `checked` gets the names of their scenarios, before the first
 * record is changed.
 * @throws GateError BUNDLE_… (exit 5), NOTHING_TO_ACCEPT when a scenario has no successful run, and those of the store
 */
export async function acceptBundles(
  bundles: readonly string[],
  reason: string,
  store: BaselineStore,
  checked: (scenarios: readonly string[]) => void = () => {},
): Promise<readonly StoredRecord[]> {
  const accepted: Accepted[] = [];
  for (const bundle of bundles) accepted.push(...(await acceptedScenarios(bundle)));
  checked([...new Set(accepted.map(({ scenario: { scenario } }) => scenario))]);
  const keyOf = ({ scenario: { scenario, fingerprint } }: Accepted) =>
    JSON.stringify([scenario, fingerprintHash(fingerprint)]);
  const records: StoredRecord[] = [];
  for (const [first, ...others] of groupBy(accepted, keyOf).values()) {
    if (first === undefined) continue;
    const { scenario, fingerprint } = first.scenario;
    const runs = [first, ...others].flatMap((one) => one.runs);
    records.push(
      await store.update(scenario, fingerprint, (current) =>
        acceptRuns(current ?? emptyRecord(scenario, { ...fingerprint }), runs, reason),
      ),
    );
  }
  return records;
}
