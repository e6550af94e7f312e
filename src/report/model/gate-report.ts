import type { PhaseStretch, PhasesMemory } from "../../analysis/growth/phases.ts";
import type { AnalysisDocument, Finding } from "../../analysis/series/document.ts";
import type { Band } from "../../baseline/band.ts";
import type { Metric } from "../../telemetry/recording/metrics.ts";
import type { Fingerprint, RecordingInfo } from "../../telemetry/recording/model.ts";
import type { Acceptance } from "../../verdict/model/acceptance.ts";
import type { CheckVerdict, Judgement } from "../../verdict/model/judgement.ts";
import type { PeakReport, PeakRow } from "./peak-report.ts";
import type {
  BaselineSummary,
  CausedBy,
  Invocation,
  KnownLeakUse,
  LockChanges,
  PolicyChange,
  RunRole,
  Scaling,
  ScenarioError,
} from "./report-schema.ts";

/** The verdict of a scenario or gate; `error` when a command could not be measured or judged. */
export type Verdict = CheckVerdict | "error";

/** One line of a chart: seconds since the start of the run, bytes; NaN = gap. */
export interface TimelineSeries {
  readonly rank: number;
  readonly device: string;
  readonly metric: Metric;
  /** False for series that only explain (resident set, reserved). */
  readonly gating: boolean;
  readonly time_s: Float64Array;
  /** Step of each sample with the share of it that had passed, ascending; NaN outside steps. Absent without steps. */
  readonly steps?: Float64Array;
  readonly bytes: Float64Array;
}

/** The limits and the band of one series. */
export interface TimelinePanel extends Pick<TimelineSeries, "rank" | "device" | "metric"> {
  /** Whether its checks decided the verdict: the picture shows these series, the page the others too. */
  readonly decides: boolean;
  readonly envelope: Band | null;
  readonly threshold_bytes: number | null;
  readonly budget_bytes: number | null;
  /** Rate of a growth that did not pass; absent without one. */
  readonly growth?: { readonly bytes: number; readonly per: "step" | "second" };
}

/** The source line that holds most of a growth. Its texts come from the measured program. */
export interface TimelineCause {
  /** "train.py:6" */
  readonly location: string;
  readonly code: string | null;
  /** Share of the growth, 0 to 1. */
  readonly share: number | null;
}

/** What a timeline's picture shows, as PNG, HTML or sparkline. */
export interface Timeline {
  readonly scenario: string;
  readonly verdict: Verdict;
  /** One sentence under the title ("grows 12.0 MiB/s: leak; +310 MiB over the baseline"). */
  readonly subtitle: string;
  readonly series: readonly TimelineSeries[];
  /** The series the verdict is about; absent when no check decided it. */
  readonly about?: Pick<TimelineSeries, "rank" | "device" | "metric"> | undefined;
  readonly envelope: Band | null;
  /** Absolute budget of the main series, bytes. */
  readonly budget_bytes: number | null;
  /** Peak above which the relative check breaches, bytes. */
  readonly threshold_bytes: number | null;
  readonly marks: readonly { readonly time_s: number; readonly text: string }[];
  /** Phases that the program names, one after the other; absent where it names none. */
  readonly phases?: readonly PhaseStretch[];
  /** Absent in documents of earlier versions, where envelope and limits are those of the main series. */
  readonly panels?: readonly TimelinePanel[];
  readonly cause?: TimelineCause | null;
  /** What a breached peak consists of, as stacked bars; absent where it was not explained. */
  readonly peak?: {
    readonly rows: readonly PeakRow[];
    readonly bytes: number;
    readonly compared_bytes: number | null;
  };
  /** Which of the candidate's runs it shows, from 1 on; absent where it is none of them. */
  readonly run?: { readonly number: number; readonly of: number };
}

/** The role of the runs that measured the command as it is, so that others can be compared with them. */
export const comparableRole = (runs: readonly Pick<RunReport, "role">[]): RunRole =>
  runs.some(({ role }) => role === "superseded") ? "superseded" : "candidate";

export interface RunReport {
  readonly role: RunRole;
  /** Directory within the bundle: `runs/<scenario>/<n>`. */
  readonly directory: string;
  readonly info: RecordingInfo;
  /** Null when nothing could be measured. */
  readonly analysis: AnalysisDocument | null;
  /** Memory by the phases that the program names; absent where it names none. */
  readonly phases?: PhasesMemory;
}

interface ScenarioFacts {
  readonly scenario: string;
  readonly verdict: Verdict;
  readonly runs: readonly RunReport[];
  readonly baseline: BaselineSummary | null;
  readonly fingerprint: Fingerprint;
  readonly findings: readonly Finding[];
  readonly timeline: Timeline | null;
  /** Token by which a person can accept what failed; absent when nothing can be accepted. */
  readonly difference?: string;
  /** Present where the change itself made the scenario unjudged: never a success, whatever `unjudged` says. */
  readonly caused_by?: CausedBy;
  /** Packages that the change locks to other versions; present after a breach. */
  readonly lock_changes?: LockChanges;
  /** What a breached peak consists of, by line, category and phase. */
  readonly peak?: PeakReport;
  /** What was done to the gate's own files while the command ran, one sentence each; absent = nothing. */
  readonly interference?: readonly string[];
  /** Present where the verdict is red, unless it is too long. */
  readonly invocation?: Invocation;
  /** Who accepted the difference; the verdict is then "warn", the judgement is unchanged. */
  readonly accepted?: Acceptance;
  /** The known leaks that explain the growth; the verdict is then "warn", the judgement is unchanged. */
  readonly known_leaks?: readonly KnownLeakUse[];
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

export interface GateReport {
  readonly tool: { readonly name: "stormlog-gate"; readonly version: string; readonly argv: readonly string[] };
  readonly generated_at_utc: string;
  readonly verdict: Verdict;
  readonly exit_code: number;
  readonly confirmed: boolean;
  readonly session: string;
  readonly commit: string | null;
  readonly scenarios: readonly ScenarioReport[];
  /** Runs made and minutes spent, base and confirmation runs included. */
  readonly cost: { readonly runs: number; readonly minutes: number };
  /** Notices that do not affect the verdict (missing permission, degraded upload, fallback sampler). */
  readonly warnings: readonly string[];
  /** The pull request's changes of the policy that judges it; absent or empty when there are none. */
  readonly policy_changes?: readonly PolicyChange[];
  /** Token by which a person accepts these changes. */
  readonly policy_difference?: string;
  /** Who accepted them; they are in force then. */
  readonly policy_accepted?: Acceptance;
  /** How peaks grow with the values of `--vary`; absent without it. */
  readonly scaling?: readonly Scaling[];
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
