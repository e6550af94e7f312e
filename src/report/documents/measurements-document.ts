import { measuredRun } from "../../analysis/measured-run.ts";
import type { MeasurementsInput } from "../../analysis/measurements.ts";
import { comparableRole, type GateReport, type ScenarioReport } from "../model/gate-report.ts";
import { worstScenario } from "../model/severity.ts";

/**
 * The measurement files of a bundle: the worst scenario's, and with several scenarios also one beside the runs of each.
 * Failed runs are omitted because they are never judged, base re-runs because they belong to the baseline.
 */
export function measurementDocuments(
  report: GateReport,
): { readonly path: string; readonly content: MeasurementsInput }[] {
  const main = worstScenario(report);
  if (main === null) return [];
  const files = [{ path: "measurements.json", content: documentOf(main) }];
  if (report.scenarios.length > 1) {
    for (const scenario of report.scenarios) {
      const directory = scenario.runs[0]?.directory.replace(/\/[^/]*$/, "");
      if (directory) files.push({ path: `${directory}/measurements.json`, content: documentOf(scenario) });
    }
  }
  return files;
}

function documentOf(scenario: ScenarioReport): MeasurementsInput {
  const wanted = comparableRole(scenario.runs);
  const runs = scenario.runs.flatMap(({ role, info, analysis }) => {
    const succeeded = info.exit.kind === "exited" && info.exit.code === 0;
    if (role !== wanted || analysis === null || !succeeded) return [];
    const { series, ...run } = measuredRun(analysis, { session: info.session, commit: info.commit });
    return [{ ...run, series: [...series] }];
  });
  return {
    schema: "stormlog.measurements/1",
    scenario: scenario.scenario,
    fingerprint: { ...scenario.fingerprint },
    runs,
  };
}
