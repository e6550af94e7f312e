import type { Finding } from "../analysis/document.ts";
import type { Measurements } from "../analysis/measurements.ts";
import type { BaselineAnswer } from "../baseline/load.ts";
import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import { GateError } from "../core/errors.ts";
import type { BaselineSummary, ScenarioReport, Verdict } from "../report/documents/model.ts";
import { judge } from "../verdict/judge.ts";
import type { Judgement } from "../verdict/judgement.ts";
import { outOfTime } from "./cost.ts";
import { headline } from "./headline.ts";
import { type FinishedRun, runReport } from "./one-run.ts";
import { outputTail } from "./output-tail.ts";
import { policyOf } from "./policy.ts";
import type { RunEnding } from "./run-ending.ts";
import { buildTimeline } from "./timeline.ts";

/** What a scenario's story left, as far as a report needs it. */
export interface ScenarioFacts {
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
  readonly error: ScenarioReport["error"];
  readonly subtitle: string;
  /** Findings that name source lines, told before the others. */
  readonly lines: readonly Finding[];
}

function assemble(
  request: GateRequest,
  scenario: ScenarioRequest,
  story: ScenarioFacts,
  parts: Assembly,
): ScenarioReport {
  // A command that never started has no memory: what was sampled then is the launcher's own.
  const started = ({ recording, info }: FinishedRun): boolean => recording !== null && info.exit.kind !== "not-started";
  // A whole run shows more than one that was cut.
  const shown = story.candidate.findLast(started) ?? story.stopped.findLast(started);
  const timeline =
    shown?.recording == null
      ? null
      : buildTimeline({
          scenario: scenario.name,
          word: parts.word,
          subtitle: parts.subtitle,
          recording: shown.recording,
          judgement: parts.judgement,
          policy: policyOf(request, scenario),
          envelopes: story.baseline.kind === "found" ? story.baseline.envelopes : [],
        });
  return {
    scenario: scenario.name,
    word: parts.word,
    judgement: parts.judgement,
    error: parts.error,
    runs: story.runs().map((run) => runReport(run, request.bundle)),
    baseline: baselineSummary(story.baseline),
    fingerprint: (story.candidate[0] ?? story.stopped[0])?.info.fingerprint ?? {},
    findings: [...parts.lines, ...findingsOf(story.candidate)],
    timeline,
  };
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
  request: GateRequest,
  scenario: ScenarioRequest,
  story: ScenarioFacts,
  judgement: Judgement,
  lines: readonly Finding[] = [],
): ReportedScenario {
  const newest = story.candidate.findLast(({ analysis }) => analysis !== null);
  const subtitle = headline(judgement, newest?.analysis ?? null);
  return {
    report: assemble(request, scenario, story, { word: judgement.verdict, judgement, error: null, subtitle, lines }),
    warnings: story.warnings,
  };
}

/**
 * A scenario whose command failed or was interrupted: never judged on peak or growth. What it used before it failed still
 * counts against absolute budgets and out-of-memory.
 */
export function failedScenario(
  request: GateRequest,
  scenario: ScenarioRequest,
  story: ScenarioFacts,
  run: FinishedRun,
): ReportedScenario {
  const error =
    run.ending.kind === "failed"
      ? { code: run.ending.code, message: run.ending.message, hint: run.ending.hint, ...tailOf(run) }
      : run.ending.kind === "interrupted"
        ? {
            code: "INTERRUPTED",
            message: `interrupted by ${run.ending.signal}`,
            hint: "What was measured until then is in the bundle.",
          }
        : null;
  const all = judge({
    candidate: story.candidateMeasurements(),
    baseline: null,
    anchor: null,
    policy: policyOf(request, scenario),
    baseRunsPossible: false,
  });
  const hard = all.checks.filter(
    (check) => check.verdict === "fail" && (check.limit === "budget" || check.aspect === "oom"),
  );
  const judgement: Judgement | null =
    run.ending.kind === "failed" && hard.length > 0
      ? { ...all, verdict: "fail", final: true, checks: hard, needs_more_runs: 0, needs_base_runs: 0 }
      : null;
  return {
    report: assemble(request, scenario, story, {
      word: judgement === null ? "error" : "fail",
      judgement,
      error,
      subtitle: error?.message ?? "",
      lines: [],
    }),
    warnings: story.warnings,
  };
}

/**
 * A scenario that was ended from outside before it could be judged. A cancelled one is an error and nothing else; one whose
 * time was over still counts against absolute budgets.
 */
export function stoppedScenario(
  request: GateRequest,
  scenario: ScenarioRequest,
  story: ScenarioFacts,
  run: FinishedRun | null,
  interrupt: AbortSignal,
): ReportedScenario {
  const last = run ?? story.candidate.at(-1);
  if (last === undefined) {
    return brokenScenario(
      scenario,
      new GateError("INTERRUPTED", "interrupted before it began", { kind: "interrupted" }),
    );
  }
  if (!outOfTime(interrupt)) {
    const signal = last.ending.kind === "interrupted" ? last.ending.signal : String(interrupt.reason);
    return failedScenario(request, scenario, story, { ...last, ending: { kind: "interrupted", signal } });
  }
  const measured = last.measured === null ? [] : [last.measured];
  const seen: ScenarioFacts = {
    ...factsOf(story),
    candidateMeasurements: () => ({
      scenario: scenario.name,
      fingerprint: last.info.fingerprint,
      runs: [...story.candidateMeasurements().runs, ...measured],
    }),
  };
  return failedScenario(request, scenario, seen, { ...last, ending: timeIsOver() });
}

function factsOf(story: ScenarioFacts): ScenarioFacts {
  const { candidate, base, attribution, stopped, baseline, warnings } = story;
  return {
    ...{ candidate, base, attribution, stopped, baseline, warnings },
    candidateMeasurements: () => story.candidateMeasurements(),
    runs: () => story.runs(),
  };
}

function timeIsOver(): Extract<RunEnding, { kind: "failed" }> {
  const hint = "Raise timeout-minutes, or make the scenario shorter.";
  return { kind: "failed", code: "STEP_TIMEOUT", message: "timeout-minutes was over before the run ended", hint };
}

/** A scenario that could not go on after some of its runs; they are its evidence. */
export function abortedScenario(
  request: GateRequest,
  scenario: ScenarioRequest,
  story: ScenarioFacts,
  cause: GateError,
): ReportedScenario {
  const { code, message, hint = null } = cause;
  const where = cause.where === undefined ? "" : ` (${cause.where})`;
  const error = { code, message: `${message}${where}`, hint };
  return {
    report: assemble(request, scenario, story, { word: "error", judgement: null, error, subtitle: message, lines: [] }),
    warnings: story.warnings,
  };
}

/** A scenario whose measurement could not even begin (no space for its directory, say). */
export function brokenScenario(scenario: ScenarioRequest, error: GateError): ReportedScenario {
  const where = error.where === undefined ? "" : ` (${error.where})`;
  return {
    report: {
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
