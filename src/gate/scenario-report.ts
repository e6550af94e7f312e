import type { Finding } from "../analysis/document.ts";
import type { Measurements } from "../analysis/measurements.ts";
import type { BaselineAnswer } from "../baseline/load.ts";
import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import { GateError } from "../core/errors.ts";
import {
  type BaselineSummary,
  type ScenarioError,
  type ScenarioReport,
  scenarioReport,
  type Verdict,
} from "../report/documents/model.ts";
import { judge } from "../verdict/judge.ts";
import { DONE, isHardBreach, type Judgement } from "../verdict/judgement.ts";
import { outOfTime } from "./cost.ts";
import { headline } from "./headline.ts";
import { type FinishedRun, runReport } from "./one-run.ts";
import { outputTail } from "./output-tail.ts";
import { policyOf } from "./policy.ts";
import type { RunEnding } from "./run-ending.ts";
import { buildTimeline } from "./timeline.ts";

/** What a report needs of a scenario and its runs. */
export interface ScenarioFacts {
  readonly request: GateRequest;
  readonly scenario: ScenarioRequest;
  readonly candidate: readonly FinishedRun[];
  readonly base: readonly FinishedRun[];
  readonly attribution: readonly FinishedRun[];
  /** Runs that a limit or a cancellation ended: evidence, never judged. */
  readonly stopped: readonly FinishedRun[];
  readonly baseline: BaselineAnswer;
  readonly warnings: readonly string[];
  candidateMeasurements(): Measurements;
  /** All of them, in the order a report shows them. */
  runs(): readonly FinishedRun[];
}

const SEVERITY_ORDER = { critical: 0, warning: 1, info: 2 } as const;

/** Findings of the newest candidate run, worst first: confirmation runs repeat the same ones. */
function findingsOf(runs: readonly FinishedRun[]): readonly Finding[] {
  const newest = runs.findLast(({ analysis }) => analysis !== null);
  return [...(newest?.analysis?.findings ?? [])].sort(
    (a, b) => SEVERITY_ORDER[a.severity] - SEVERITY_ORDER[b.severity],
  );
}

function baselineSummary(baseline: BaselineAnswer): BaselineSummary | null {
  return baseline.kind === "found" ? baseline.summary : null;
}

interface Assembly {
  readonly word: Verdict;
  readonly judgement: Judgement | null;
  readonly error: ScenarioError | null;
  readonly subtitle: string;
  /** Findings that name source lines; they come before the others. */
  readonly lines: readonly Finding[];
}

function assemble(run: ScenarioFacts, parts: Assembly): ScenarioReport {
  const { request, scenario } = run;
  // Without a started command, the samples are of the launcher.
  const started = ({ recording, info }: FinishedRun): boolean => recording !== null && info.exit.kind !== "not-started";
  // A complete run shows more than one that was cut.
  const shown = run.candidate.findLast(started) ?? run.stopped.findLast(started);
  const timeline =
    shown?.recording == null
      ? null
      : buildTimeline({
          scenario: scenario.name,
          verdict: parts.word,
          subtitle: parts.subtitle,
          recording: shown.recording,
          judgement: parts.judgement,
          policy: policyOf(request, scenario),
          envelopes: run.baseline.kind === "found" ? run.baseline.envelopes : [],
        });
  return scenarioReport({
    scenario: scenario.name,
    word: parts.word,
    judgement: parts.judgement,
    error: parts.error,
    runs: run.runs().map((one) => runReport(one, request.bundle)),
    baseline: baselineSummary(run.baseline),
    fingerprint: (run.candidate[0] ?? run.stopped[0])?.info.fingerprint ?? {},
    findings: [...parts.lines, ...findingsOf(run.candidate)],
    timeline,
  });
}

export interface ReportedScenario {
  readonly report: ScenarioReport;
  readonly warnings: readonly string[];
}

function tailOf(run: FinishedRun): { readonly output_tail?: string } {
  const tail = outputTail(run.directory);
  return tail === null ? {} : { output_tail: tail };
}

/** A scenario that was measured and judged. */
export function judgedScenario(
  run: ScenarioFacts,
  judgement: Judgement,
  lines: readonly Finding[] = [],
): ReportedScenario {
  const newest = run.candidate.findLast(({ analysis }) => analysis !== null);
  const subtitle = headline(judgement, newest?.analysis ?? null);
  return {
    report: assemble(run, { word: judgement.verdict, judgement, error: null, subtitle, lines }),
    warnings: run.warnings,
  };
}

/** A scenario whose command failed or was interrupted: only absolute budgets and out-of-memory are judged. */
export function failedScenario(run: ScenarioFacts, last: FinishedRun): ReportedScenario {
  const error =
    last.ending.kind === "failed"
      ? { code: last.ending.code, message: last.ending.message, hint: last.ending.hint, ...tailOf(last) }
      : last.ending.kind === "interrupted"
        ? {
            code: "INTERRUPTED",
            message: `interrupted by ${last.ending.signal}`,
            hint: "The bundle has the measurements made before.",
          }
        : null;
  const all = judge({
    candidate: run.candidateMeasurements(),
    baseline: null,
    anchor: null,
    policy: policyOf(run.request, run.scenario),
    baseRunsPossible: false,
  });
  const hard = all.checks.filter(isHardBreach);
  const judgement: Judgement | null =
    last.ending.kind === "failed" && hard.length > 0 ? { ...all, verdict: "fail", next: DONE, checks: hard } : null;
  return {
    report: assemble(run, {
      word: judgement === null ? "error" : "fail",
      judgement,
      error,
      subtitle: error?.message ?? "",
      lines: [],
    }),
    warnings: run.warnings,
  };
}

/** A scenario ended from outside: an error when cancelled; out of time, absolute budgets still count. */
export function stoppedScenario(
  run: ScenarioFacts,
  stopped: FinishedRun | null,
  interrupt: AbortSignal,
): ReportedScenario {
  const { request, scenario, candidate, base, attribution, baseline, warnings } = run;
  const last = stopped ?? run.candidate.at(-1);
  if (last === undefined) {
    return brokenScenario(
      scenario,
      new GateError("INTERRUPTED", "interrupted before it began", { kind: "interrupted" }),
    );
  }
  if (!outOfTime(interrupt)) {
    const signal = last.ending.kind === "interrupted" ? last.ending.signal : String(interrupt.reason);
    return failedScenario(run, { ...last, ending: { kind: "interrupted", signal } });
  }
  const measured = last.measured === null ? [] : [last.measured];
  const seen: ScenarioFacts = {
    request,
    scenario,
    candidate,
    base,
    attribution,
    stopped: run.stopped,
    baseline,
    warnings,
    runs: () => run.runs(),
    candidateMeasurements: () => ({
      scenario: scenario.name,
      fingerprint: last.info.fingerprint,
      runs: [...run.candidateMeasurements().runs, ...measured],
    }),
  };
  return failedScenario(seen, { ...last, ending: timeIsOver() });
}

function timeIsOver(): Extract<RunEnding, { kind: "failed" }> {
  const hint = "Raise timeout-minutes, or make the scenario shorter.";
  return { kind: "failed", code: "STEP_TIMEOUT", message: "timeout-minutes was over before the run ended", hint };
}

/** A scenario that ended with an error after some of its runs, which are its evidence. */
export function abortedScenario(run: ScenarioFacts, cause: GateError): ReportedScenario {
  const { code, message, hint = null } = cause;
  const where = cause.where === undefined ? "" : ` (${cause.where})`;
  const error = { code, message: `${message}${where}`, hint };
  return {
    report: assemble(run, { word: "error", judgement: null, error, subtitle: message, lines: [] }),
    warnings: run.warnings,
  };
}

/** A scenario whose measurement could not begin, for example without space for its directory. */
export function brokenScenario(scenario: ScenarioRequest, error: GateError): ReportedScenario {
  const where = error.where === undefined ? "" : ` (${error.where})`;
  return {
    report: {
      kind: "missing",
      scenario: scenario.name,
      word: "error",
      judgement: null,
      error: { code: error.code, message: `${error.message}${where}`, hint: error.hint ?? null },
      runs: [],
      baseline: null,
      fingerprint: {},
      findings: [],
      timeline: null,
    },
    warnings: [],
  };
}
