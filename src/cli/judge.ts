import { parseBudget, parseHorizon } from "../config/options.ts";
import { usageError } from "../core/errors.ts";
import { escapeTerminal } from "../core/escape.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { measurementsInput, notedMeasurements } from "../inputs/measurements-input.ts";
import { renderJudgementTerminal } from "../report/terminal/terminal.ts";
import { DEFAULT_POLICY } from "../verdict/defaults.ts";
import { judge } from "../verdict/judge.ts";
import { judgementDocument } from "../verdict/judgement-document.ts";
import { answerExit } from "./answer-exit.ts";
import type { Invocation } from "./command.ts";

const UNJUDGED = ["fail", "warn", "pass"] as const;

/** The value of `--unjudged`. */
export function unjudgedOption(text: string | undefined): (typeof UNJUDGED)[number] {
  const word = UNJUDGED.find((one) => one === (text ?? "fail"));
  if (word === undefined)
    throw usageError("OPTION_INVALID", `--unjudged "${text}" is not one of ${UNJUDGED.join(", ")}`);
  return word;
}

export async function judgeFiles({ text, lists, flags, console }: Invocation): Promise<number> {
  const unjudged = unjudgedOption(text.unjudged);
  if (text.candidate === undefined)
    throw usageError("ARGUMENT_MISSING", "`judge` needs --candidate", "See `stormlog-gate judge --help`.");
  if (text["base-run"] !== undefined && !["auto", "off"].includes(text["base-run"])) {
    throw usageError("OPTION_INVALID", `--base-run "${text["base-run"]}" is neither auto nor off`);
  }
  const { measurements: candidate, notes } = await notedMeasurements(text.candidate);
  for (const note of notes) process.stderr.write(`note: ${escapeTerminal(note)}\n`);
  const judgement = judge({
    candidate,
    baseline: text.baseline === undefined || text.baseline === "none" ? null : await measurementsInput(text.baseline),
    anchor: text.anchor === undefined ? null : await measurementsInput(text.anchor),
    policy: {
      ...DEFAULT_POLICY,
      budgets: (lists.budget ?? []).map(parseBudget),
      horizon: text.horizon === undefined ? null : parseHorizon(text.horizon),
    },
    baseRunsPossible: text["base-run"] !== "off",
  });
  if (!console.json) console.print(renderJudgementTerminal(judgement, { color: console.color, width: console.width }));
  console.document(judgementDocument(judgement));
  return flags["exit-code"] === true ? answerExit(judgement.verdict, unjudged) : ExitCode.pass;
}
