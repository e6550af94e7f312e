import type { MeasuredRun, Measurements } from "../../analysis/measurements.ts";
import type { UnjudgedMode } from "../../config/gate-request.ts";
import { choice, parseBudget, parseHorizon } from "../../config/options.ts";
import { usageError } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { type JudgeableInput, judgeableInput } from "../../inputs/measurements-input.ts";
import { pairScenarios } from "../../inputs/scenario-pairs.ts";
import { verdictUrgency } from "../../report/model/gate-report.ts";
import { renderScenariosTerminal } from "../../report/terminal/comparison-terminal.ts";
import { renderJudgementTerminal } from "../../report/terminal/terminal.ts";
import { judge } from "../../verdict/judge.ts";
import { DEFAULT_POLICY } from "../../verdict/model/defaults.ts";
import type { Judgement } from "../../verdict/model/judgement.ts";
import { judgementDocument } from "../../verdict/model/judgement-document.ts";
import type { Invocation } from "../console/command.ts";

/** The value of `--unjudged`. */
export const unjudgedOption = (text: string | undefined): UnjudgedMode =>
  choice("unjudged", text ?? "fail", ["fail", "warn", "pass"]);

/** The answer of `judge` or `compare` for one scenario. */
export interface ScenarioAnswer {
  readonly scenario: string;
  readonly judgement: Judgement;
  readonly document: object;
  /** The answer for a terminal. */
  readonly render: () => string;
}

/**
 * Print the answers for all scenarios; the worst is the answer of the command. A single one is printed without a name.
 * @returns the exit status
 */
export function printAnswers(
  answers: readonly ScenarioAnswer[],
  { console, flags }: Pick<Invocation, "console" | "flags">,
  unjudged: UnjudgedMode,
): number {
  // The worst comes last because the end of the output is what a terminal shows.
  const ordered = [...answers].sort(
    (a, b) => verdictUrgency(b.judgement.verdict) - verdictUrgency(a.judgement.verdict),
  );
  const worst = ordered.at(-1);
  if (worst === undefined) throw new Error("nothing was judged");
  if (answers.length === 1) {
    if (!console.json) console.print(worst.render());
    console.document(worst.document);
  } else {
    const blocks = ordered.map(({ scenario, judgement, render }) => ({ scenario, verdict: judgement.verdict, render }));
    if (!console.json) console.print(renderScenariosTerminal(blocks, console.color));
    console.document({
      ...worst.document,
      scenario: worst.scenario,
      scenarios: answers.map(({ scenario, document }) => ({ scenario, ...document })),
    });
  }
  if (flags["exit-code"] !== true) return ExitCode.pass;
  const verdicts = answers.map(({ judgement }) => judgement.verdict);
  if (verdicts.includes("fail")) return ExitCode.gateFailed;
  if (unjudged === "fail" && verdicts.includes("unjudged")) return ExitCode.unjudged;
  return verdicts.includes("warn") ? ExitCode.findings : ExitCode.pass;
}

/** Runs of the candidate's session beside others, and not of its commit, are re-runs of the base commit. */
function withReruns(baseline: Measurements | null, { runs: [first] }: Measurements, possible: boolean) {
  const isRerun = ({ session, commit }: MeasuredRun) =>
    session === first?.session && (commit === null || commit !== first.commit);
  const runs = baseline?.runs.filter((run) => !isRerun(run)) ?? [];
  if (baseline === null || runs.length === 0) return { baseline, baseRunsPossible: false };
  return { baseline: { ...baseline, runs }, baseRuns: baseline.runs.filter(isRerun), baseRunsPossible: possible };
}

export async function judgeFiles({ text, lists, flags, console }: Invocation): Promise<number> {
  const unjudged = unjudgedOption(text.unjudged);
  if (text.candidate === undefined)
    throw usageError("ARGUMENT_MISSING", "`judge` needs --candidate", "See `stormlog-gate judge --help`.");
  const baseRunsPossible = choice("base-run", text["base-run"] ?? "auto", ["auto", "off"]) === "auto";
  const candidate = await judgeableInput(text.candidate);
  const reference = async (file: string | undefined): Promise<JudgeableInput | null> =>
    file === undefined ? null : judgeableInput(file);
  const baseline = await reference(text.baseline === "none" ? undefined : text.baseline);
  const references = [baseline, await reference(text.anchor)];
  const { pairs, notes } = pairScenarios(candidate, references);
  const read = [candidate, ...references].flatMap((input) => input?.notes ?? []);
  for (const note of new Set([...read, ...notes])) process.stderr.write(`note: ${escapeTerminal(note)}\n`);
  const policy = {
    ...DEFAULT_POLICY,
    budgets: (lists.budget ?? []).map(parseBudget),
    horizon: text.horizon === undefined ? null : parseHorizon(text.horizon),
  };
  const answers = pairs.map(({ scenario, candidate, references: [baseline = null, anchor = null] }): ScenarioAnswer => {
    const judgement = judge({ candidate, ...withReruns(baseline, candidate, baseRunsPossible), anchor, policy });
    return {
      scenario,
      judgement,
      document: judgementDocument(judgement),
      render: () => renderJudgementTerminal(judgement, console),
    };
  });
  return printAnswers(answers, { console, flags }, unjudged);
}
