import type { GateReport, ScenarioReport, Verdict } from "./gate-report.ts";

/** Worst first. An error must not hide a fail, but comes before every milder verdict. */
export const VERDICTS_BY_URGENCY: readonly Verdict[] = ["fail", "error", "unjudged", "warn", "pass"];

/** Smaller is more urgent. */
export function verdictUrgency(verdict: Verdict): number {
  return VERDICTS_BY_URGENCY.indexOf(verdict);
}

/** Smaller is more urgent; of one verdict, scenarios with a timeline come first. */
export function urgency(scenario: ScenarioReport): number {
  return verdictUrgency(scenario.verdict) + (scenario.timeline === null ? 0.5 : 0);
}

export function byUrgency(scenarios: readonly ScenarioReport[]): ScenarioReport[] {
  return [...scenarios].sort((a, b) => urgency(a) - urgency(b));
}

/** The scenario that represents the report in a picture or a table: the most urgent, the first of equals. */
export function worstScenario(report: GateReport): ScenarioReport | null {
  return byUrgency(report.scenarios)[0] ?? null;
}
