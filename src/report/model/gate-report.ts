import type { PhaseStretch, PhasesMemory } from "../../analysis/growth/phases.ts";
import type { AnalysisDocument, Finding } from "../../analysis/series/document.ts";
import type { Band } from "../../baseline/band.ts";
import type { Metric } from "../../telemetry/recording/metrics.ts";
import type { Fingerprint, RecordingInfo } from "../../telemetry/recording/model.ts";
import type { Acceptance } from "../../verdict/model/acceptance.ts";
import type { CheckVerdict, Judgement } from "../../verdict/model/judgement.ts";
import type { PeakReport, PeakRow } from "./peak-report.ts";

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

/**
 * Why a run was made. Attribution slows and enlarges a run, so it is evidence and never judged. A superseded run is one
 * of the candidate in whose place those are judged in which V8 collected.
 */
export const RUN_ROLES = ["candidate", "base", "attribution", "superseded"] as const;
export type RunRole = (typeof RUN_ROLES)[number];

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

export interface BaselineSummary {
  /** `file:baselines`, `ref:…`, a path. */
  readonly source: string;
  readonly runs: number;
  readonly sessions: number;
  readonly newest_iso: string | null;
  readonly commit: string | null;
  /** Runs of the level before, whose spread is used while the accepted level has too few runs. */
  readonly earlier_runs?: number;
}

/** Why a command could not be measured or judged: stable code and message. */
export interface ScenarioError {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  /** Last lines the command printed, unescaped. */
  readonly output_tail?: string;
}

/** How the gate was started: `report/wording/reproduce.ts` makes of it the command that measures the same again. */
export interface Invocation {
  /** Directory, relative to the repository; "" = its top, null = outside one. */
  readonly directory: string | null;
  /** Config file, relative to `directory`; null without one. */
  readonly config: string | null;
  /** The command where it was given on the spot; null = the config file has it. */
  readonly command: readonly string[] | null;
  /** Options of `run`, as words. */
  readonly options: readonly string[];
  /** Baseline specs; null = those of the config file, or the command line's own. */
  readonly baselines: readonly string[] | null;
  /** Ref the change will be merged into; null when it is not named. */
  readonly base: string | null;
  /** Whether a clone may lack the commit, as that of a pull request's merge. */
  readonly fetch: boolean;
  /** Whether measured files differ from the commit. */
  readonly modified: boolean;
}

/** What a pull request did to a scenario of its base commit, which makes it unjudged until that is accepted. */
export const CAUSES = ["edited", "renamed", "removed"] as const;
export type CausedBy = (typeof CAUSES)[number];

/** A package that a change locks to another version. Its texts come from the lock: escape them where printed. */
export interface LockChange {
  readonly ecosystem: "python" | "node";
  readonly name: string;
  /** Null = not locked before. */
  readonly from: string | null;
  /** Null = locked no longer. */
  readonly to: string | null;
}

/** What a change does to lock files. */
export interface LockChanges {
  /** Number of changed packages, of which `packages` has the first. */
  readonly total: number;
  /** That of the named line first. */
  readonly packages: readonly LockChange[];
}

/** An entry of `policy.known-leaks` by which a red scenario only warns. Escape its texts where they are printed. */
export interface KnownLeakUse {
  readonly package: string;
  readonly version: string;
  /** Line or function. */
  readonly at: string;
  /** Last day on which it applies, `2027-01-31`. */
  readonly until: string;
  readonly reason: string;
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

/** A setting that a pull request changes in its own gate; in force only after someone accepts it. */
export interface PolicyChange {
  /** Its key in the config file: `scenarios.train.budget.host`. */
  readonly path: string;
  /** As written; null = not set. */
  readonly base: string | null;
  readonly head: string | null;
}

/** The peak at one value of `--vary`. */
export interface ScalingPoint {
  readonly value: string;
  /** Null = no peak was measured, or its run failed. */
  readonly bytes: number | null;
  /** Present where the command failed, was interrupted or ran out of memory. */
  readonly failed?: boolean;
}

/** Peak memory over the values of `--vary`, for one scenario. Sizes in bytes. */
export interface Scaling {
  /** The scenario that was varied, and the name whose value changes. */
  readonly scenario: string;
  readonly name: string;
  /** The series whose peak it is: "host", or the allocator of a device. */
  readonly metric: string;
  readonly device: string;
  /** In the order they were run. */
  readonly points: readonly ScalingPoint[];
  /** peak = a + b x^exponent, with its 95 % interval; null, with the reason, where nothing was fitted. */
  readonly fit: {
    readonly a_bytes: number;
    readonly b_bytes: number;
    readonly exponent: number;
    readonly low: number;
    readonly high: number;
  } | null;
  readonly no_fit: string | null;
  /** The largest value that fits a size, with its 95 % interval; null where none does. */
  readonly fits: readonly {
    readonly name: string;
    readonly bytes: number;
    readonly largest: { readonly value: number; readonly low: number; readonly high: number } | null;
  }[];
  readonly verdict: "pass" | "fail" | "unjudged" | null;
  /** Why the limits of `policy.scaling` are breached or not judged; null without limits, or within them. */
  readonly reason: string | null;
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
