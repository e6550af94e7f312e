import type { DeepReadonly } from "../../core/json.ts";
import type { Judgement } from "../../verdict/model/judgement.ts";
import type { Payload, RunReport, RunRole, ScenarioError, Verdict } from "./report-schema.ts";

export type { RunReport, Verdict };

type StoredReport = DeepReadonly<Payload>;
type StoredScenario = StoredReport["scenarios"][number];

/** One line of a chart: seconds since the start of the run, bytes; NaN = gap. */
export interface TimelineSeries extends Omit<StoredTimeline["series"][number], "time_s" | "steps" | "bytes"> {
  readonly time_s: Float64Array;
  /** Step of each sample with the share of it that had passed, ascending; NaN outside steps. Absent without steps. */
  readonly steps?: Float64Array;
  readonly bytes: Float64Array;
}

type StoredTimeline = NonNullable<StoredScenario["timeline"]>;

/** What a timeline's picture shows, as PNG, HTML or sparkline. */
export interface Timeline extends Omit<StoredTimeline, "series"> {
  readonly series: readonly TimelineSeries[];
}
export type TimelinePanel = NonNullable<Timeline["panels"]>[number];
export type HostAccount = NonNullable<Timeline["account"]>;
export type TimelineCause = NonNullable<Timeline["cause"]>;

/** The role of the runs that measured the command as it is, so that others can be compared with them. */
export const comparableRole = (runs: readonly Pick<RunReport, "role">[]): RunRole =>
  runs.some(({ role }) => role === "superseded") ? "superseded" : "candidate";

interface ScenarioFacts extends Omit<StoredScenario, "judgement" | "error" | "timeline"> {
  readonly timeline: Timeline | null;
}

/** The result of one scenario. */
export type ScenarioReport = ScenarioFacts &
  (
    | { readonly kind: "judged"; readonly judgement: Judgement; readonly error: null }
    /** A command failed, or the scenario was ended; the judgement has what fails by its memory anyway. */
    | { readonly kind: "failed"; readonly judgement: Judgement | null; readonly error: ScenarioError }
    /** Without runs: removed from the configuration, not reached, a missing leg, or shortened to fit a section. */
    | { readonly kind: "missing"; readonly judgement: Judgement | null; readonly error: ScenarioError | null }
  );

/** A scenario's report, with its kind. */
export function scenarioReport(
  facts: ScenarioFacts & { readonly judgement: Judgement | null; readonly error: ScenarioError | null },
): ScenarioReport {
  const { judgement, error } = facts;
  if (facts.runs.length > 0 && error !== null) return { ...facts, kind: "failed", judgement, error };
  if (facts.runs.length > 0 && judgement !== null) return { ...facts, kind: "judged", judgement, error: null };
  return { ...facts, kind: "missing", judgement, error };
}

export interface GateReport extends Omit<StoredReport, "final" | "scenarios"> {
  readonly tool: { readonly name: "stormlog-gate"; readonly version: string; readonly argv: readonly string[] };
  readonly generated_at_utc: string;
  readonly scenarios: readonly ScenarioReport[];
}

/** A scenario without runs. */
export function missingScenario(scenario: string, verdict: Verdict, error: ScenarioError): ScenarioReport {
  const nothing = { runs: [], baseline: null, fingerprint: {}, findings: [], timeline: null };
  return { kind: "missing", scenario, verdict, judgement: null, error, ...nothing };
}

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
