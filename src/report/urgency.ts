import type { GateReport, ScenarioReport, Verdict } from "./documents/model.ts";

/** Worst first. */
export const VERDICTS_BY_URGENCY: readonly Verdict[] = ["fail", "error", "unjudged", "warn", "pass"];

/** Smaller is more urgent. */
export function verdictUrgency(verdict: Verdict): number {
  return VERDICTS_BY_URGENCY.indexOf(verdict);
}

/** Smaller is more urgent; of one verdict, scenarios with a timeline come first. */
export function urgency(scenario: ScenarioReport): number {
  return verdictUrgency(scenario.word) + (scenario.timeline === null ? 0.5 : 0);
}

/** The scenario that stands for the whole report in a picture or a table: the most urgent, the first of equals. */
export function worstScenario(report: GateReport): ScenarioReport | null {
  let worst: ScenarioReport | null = null;
  for (const scenario of report.scenarios) {
    if (worst === null || urgency(scenario) < urgency(worst)) worst = scenario;
  }
  return worst;
}
