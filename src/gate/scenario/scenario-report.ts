import type { Measurements } from "../../analysis/measurements.ts";
import { compareSeverity, type Finding, isBackground } from "../../analysis/series/document.ts";
import type { BaselineAnswer } from "../../baseline/answer.ts";
import type { GateRequest, ScenarioRequest } from "../../config/gate-request.ts";
import { GateError } from "../../core/errors.ts";
import { outputTail } from "../../measure/session/output-tail.ts";
import { type ScenarioReport, scenarioReport } from "../../report/model/gate-report.ts";
import type { PeakReport } from "../../report/model/peak-report.ts";
import type { LockChanges, ScenarioError } from "../../report/model/report-schema.ts";
import { judge } from "../../verdict/judge.ts";
import { DEFAULT_POLICY } from "../../verdict/model/defaults.ts";
import { DONE, isHardBreach, type Judgement } from "../../verdict/model/judgement.ts";
import type { Policy } from "../../verdict/model/policy.ts";
import { type FinishedRun, runReport } from "../run/one-run.ts";
import { failure } from "../run/run-ending.ts";
import { outOfTime } from "./cost.ts";

type JudgingRequest = Pick<GateRequest, "gatingMetrics" | "gatingPhases" | "relativeMargin">;
type Judged = Pick<ScenarioRequest, "name" | "budgets" | "horizon">;

/** What a report needs of a scenario and its runs. */
export interface ScenarioEvidence {
  readonly request: JudgingRequest & Pick<GateRequest, "bundle">;
  readonly scenario: Judged;
  readonly candidate: readonly FinishedRun[];
  /** Runs that a limit or a cancellation ended: evidence, never judged. */
  readonly stopped: readonly FinishedRun[];
  readonly baseline: BaselineAnswer;
  readonly warnings: readonly string[];
  candidateMeasurements(): Measurements;
  /** All of them, in the order a report shows them. */
  runs(): readonly FinishedRun[];
  /** What was done to the gate's own files while the commands ran. */
  interference(): readonly string[];
}

/** Findings of the newest candidate run, worst first: confirmation runs repeat the same ones. */
function findingsOf(runs: readonly FinishedRun[]): readonly Finding[] {
  const newest = runs.findLast(({ analysis }) => analysis !== null);
  const findings = (newest?.analysis?.findings ?? []).filter((finding) => !isBackground(finding));
  return findings.sort(compareSeverity);
}

interface ReportParts extends Pick<ScenarioReport, "verdict" | "judgement" | "error"> {
  /** Findings that name source lines; they come before the others. */
  readonly lines?: readonly Finding[];
  /** Why none of them names what breached; null or absent where one does, or none was looked for. */
  readonly noLine?: string | null;
  readonly locks?: LockChanges | null;
  /** What a breached peak consists of. */
  readonly peak?: PeakReport | null;
}

async function assemble(run: ScenarioEvidence, parts: ReportParts): Promise<ReportedScenario> {
  const { request, scenario } = run;
  const runs = run.runs();
  const interference = run.interference();
  const facts = {
    scenario: scenario.name,
    verdict: parts.verdict,
    judgement: parts.judgement,
    error: parts.error,
    runs: runs.map((one) => runReport(one, request.bundle)),
    baseline: run.baseline.kind === "found" ? run.baseline.summary : null,
    fingerprint: (run.candidate[0] ?? run.stopped[0])?.info.fingerprint ?? {},
    findings: [...(parts.lines ?? []), ...findingsOf(run.candidate)],
    timeline: null,
    ...(parts.noLine == null ? {} : { no_line: parts.noLine }),
    ...(parts.locks == null ? {} : { lock_changes: parts.locks }),
    ...(parts.peak == null ? {} : { peak: parts.peak }),
    ...(interference.length === 0 ? {} : { interference }),
  };
  // Loaded after measuring, as everything is that only the report needs.
  const { shownRun, withAnswer } = await import("./scenario-answer.ts");
  const at = shownRun(facts, run.candidate.length);
  const shown = runs[at];
  const report = withAnswer(scenarioReport(facts), {
    recording: shown?.recording ?? null,
    analysis: shown?.analysis ?? null,
    policy: policyOf(request, scenario),
    envelopes: run.baseline.kind === "found" ? run.baseline.envelopes : [],
    run: at >= 0 && at < run.candidate.length ? { number: at + 1, of: run.candidate.length } : undefined,
  });
  return { report, warnings: run.warnings };
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
  run: ScenarioEvidence,
  judgement: Judgement,
  found: Pick<ReportParts, "lines" | "noLine" | "locks" | "peak"> = {},
): Promise<ReportedScenario> {
  return assemble(run, { verdict: judgement.verdict, judgement, error: null, ...found });
}

/** Codes of commands that ran, and that are not judged: what they did is not what was to be judged, or is elsewhere. */
const UNJUDGED: ReadonlySet<string> = new Set(["SERVICE_ERRORS", "STREAM_WITHOUT_VERDICT"]);

/**
 * A scenario whose command failed, was interrupted or answered with errors: only absolute budgets and out-of-memory are
 * judged.
 */
export function failedScenario(
  run: ScenarioEvidence,
  last: FinishedRun,
  held: Pick<ReportParts, "lines" | "peak"> = {},
  candidate = run.candidateMeasurements(),
): Promise<ReportedScenario> {
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
    candidate,
    baseline: null,
    anchor: null,
    policy: policyOf(run.request, run.scenario),
    baseRunsPossible: false,
  });
  const hard = all.checks.filter(isHardBreach);
  const judgement: Judgement | null =
    last.ending.kind === "failed" && hard.length > 0 ? { ...all, verdict: "fail", next: DONE, checks: hard } : null;
  const verdict = judgement !== null ? "fail" : UNJUDGED.has(error?.code ?? "") ? "unjudged" : "error";
  return assemble(run, { verdict, judgement, error, ...held });
}

/** A scenario ended from outside: an error when cancelled; out of time, absolute budgets still count. */
export async function stoppedScenario(
  run: ScenarioEvidence,
  stopped: FinishedRun | null,
  interrupt: AbortSignal,
): Promise<ReportedScenario> {
  const { scenario } = run;
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
  const ending = failure(
    "STEP_TIMEOUT",
    "timeout-minutes was over before the run ended",
    "Raise timeout-minutes, or make the scenario shorter.",
  );
  return failedScenario(
    run,
    { ...last, ending },
    {},
    {
      scenario: scenario.name,
      fingerprint: last.info.fingerprint,
      runs: [...run.candidateMeasurements().runs, ...measured],
    },
  );
}

/** A scenario that ended with an error after some of its runs, which are its evidence. */
export function abortedScenario(run: ScenarioEvidence, cause: GateError): Promise<ReportedScenario> {
  return assemble(run, { verdict: "error", judgement: null, error: errorOf(cause) });
}

function errorOf({ code, message, where, hint }: GateError): ScenarioError {
  return { code, message: where === undefined ? message : `${message} (${where})`, hint: hint ?? null };
}

/** A scenario whose measurement could not begin, for example without space for its directory. */
export function brokenScenario(scenario: Judged, error: GateError): ReportedScenario {
  const report = unmeasured(scenario.name, { verdict: "error", judgement: null, error: errorOf(error) });
  return { report, warnings: [] };
}

/** The report of a scenario without any run. */
export function unmeasured(
  scenario: string,
  parts: Pick<Extract<ScenarioReport, { kind: "missing" }>, "verdict" | "judgement" | "error">,
): ScenarioReport {
  const nothing = { runs: [], baseline: null, fingerprint: {}, findings: [], timeline: null };
  return { kind: "missing", scenario, ...parts, ...nothing };
}

/** The policy one scenario is judged by: the defaults, with what the request changes. */
export function policyOf(request: JudgingRequest, scenario: Judged): Policy {
  return {
    ...DEFAULT_POLICY,
    budgets: scenario.budgets,
    horizon: scenario.horizon,
    gatingMetrics: request.gatingMetrics,
    gatingPhases: request.gatingPhases,
    ...(request.relativeMargin === null ? {} : { relativeMargin: request.relativeMargin }),
  };
}
