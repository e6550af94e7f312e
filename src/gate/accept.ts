import { fingerprintHash } from "../baseline/identity.ts";
import { runsOfJobs } from "../baseline/job-runs.ts";
import { acceptRuns, emptyRecord, type NewRun } from "../baseline/record-changes.ts";
import type { BaselineStore, StoredRecord } from "../baseline/store.ts";
import { invalidInput, usageError } from "../core/errors.ts";
import { groupBy } from "../core/group-by.ts";
import { keptSession } from "../measure/session/session.ts";
import { readBundle } from "../report/bundle/read-bundle.ts";
import { successfulRuns } from "../report/model/decisive-run.ts";
import type { ScenarioReport } from "../report/model/gate-report.ts";

/** A scenario of one of the bundles, and when the bundle was made. */
interface InBundle {
  readonly bundle: string;
  readonly timeIso: string;
  readonly scenario: ScenarioReport;
}

/** A scenario with its runs. */
interface AcceptedScenario {
  readonly scenario: ScenarioReport;
  readonly runs: readonly NewRun[];
}

async function scenariosOf(bundle: string): Promise<readonly InBundle[]> {
  const { report } = await readBundle(bundle);
  if (report.scenarios.length === 0) throw invalidInput("NOTHING_TO_ACCEPT", `${bundle} has no scenario`, bundle);
  return report.scenarios.map((scenario) => ({ bundle, timeIso: report.generated_at_utc, scenario }));
}

/** The scenarios of these names, separated by commas; all without names. @throws GateError SCENARIO_UNKNOWN (exit 2) */
function chosen(all: readonly InBundle[], names: string | undefined): readonly InBundle[] {
  if (names === undefined) return all;
  const known = [...new Set(all.map(({ scenario }) => scenario.scenario))];
  // A name may contain a comma.
  const wanted = known.includes(names.trim()) ? [names.trim()] : names.split(",").map((name) => name.trim());
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown === undefined) return all.filter(({ scenario }) => wanted.includes(scenario.scenario));
  const list = known.map((name) => `"${name}"`).join(", ");
  throw usageError("SCENARIO_UNKNOWN", `the bundles have no scenario "${unknown}"`, `They have: ${list}.`);
}

function acceptedRuns(scenarios: readonly InBundle[]): readonly AcceptedScenario[] {
  return scenarios.map(({ bundle, timeIso, scenario }) => {
    const { command } = scenario.fingerprint;
    const measured = successfulRuns(scenario).map((run) => ({ ...run, session: keptSession(run.session, timeIso) }));
    // Ranks that were measured separately are runs of their job.
    const runs = runsOfJobs(measured).map((run) => ({ measured: run, timeIso, approved: true, command }));
    if (runs.length > 0) return { scenario, runs };
    throw invalidInput("NOTHING_TO_ACCEPT", `scenario "${scenario.scenario}" has no successful run`, bundle);
  });
}

/**
 * Accept the measurements of bundles as the new baseline: each scenario, or each of `only`, opens a new epoch in each
 * environment with its runs of all bundles. All bundles are read before the first record is changed.
 * @param only names of scenarios, separated by commas; default: all
 * @throws GateError BUNDLE_… (exit 5), NOTHING_TO_ACCEPT when a scenario has no successful run,
 *   SCENARIO_UNKNOWN for a name that no bundle has (exit 2), and those of the store
 */
export async function acceptBundles(
  bundles: readonly string[],
  reason: string,
  store: BaselineStore,
  only?: string | undefined,
): Promise<readonly StoredRecord[]> {
  const all: InBundle[] = [];
  for (const bundle of bundles) all.push(...(await scenariosOf(bundle)));
  const accepted = acceptedRuns(chosen(all, only));
  const keyOf = ({ scenario: { scenario, fingerprint } }: AcceptedScenario) =>
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
