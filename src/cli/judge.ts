import { parseBudget, parseHorizon } from "../config/options.ts";
import { usageError } from "../core/errors.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { measurementsInput } from "../inputs/measurements-input.ts";
import { renderJudgementTerminal } from "../report/terminal/terminal.ts";
import { DEFAULT_POLICY } from "../verdict/defaults.ts";
import { judge } from "../verdict/judge.ts";
import { judgementDocument } from "../verdict/judgement-document.ts";
import { answerExit } from "./answer-exit.ts";
import type { CommandSpec } from "./command.ts";
import { runOption } from "./gate-options.ts";

const UNJUDGED = ["fail", "warn", "pass"] as const;

/** The value of `--unjudged`. */
export function unjudgedOption(text: string | undefined): (typeof UNJUDGED)[number] {
  const word = UNJUDGED.find((one) => one === (text ?? "fail"));
  if (word === undefined)
    throw usageError("OPTION_INVALID", `--unjudged "${text}" is not one of ${UNJUDGED.join(", ")}`);
  return word;
}

export const judgeCommand: CommandSpec = {
  name: "judge",
  description: "The verdict engine alone: a candidate's measurements against a baseline's",
  positionals: {},
  example: "stormlog-gate judge --baseline base/measurements.json --candidate stormlog-bundle --exit-code",
  exits: ["pass", "error", "findings", "gateFailed", "invalidInput", "unjudged"],
  options: {
    baseline: { type: "string", description: "Measurements, baseline record or bundle", valueHint: "B" },
    candidate: { type: "string", description: "Measurements, bundle or recording", valueHint: "C" },
    anchor: { type: "string", description: "Measurements of the last release, against slow creep", valueHint: "FILE" },
    budget: runOption("budget"),
    horizon: runOption("horizon"),
    unjudged: runOption("unjudged"),
    "base-run": {
      type: "string",
      description: "Whether the base commit can be re-run: auto or off",
      valueHint: "auto|off",
    },
    "exit-code": { type: "boolean", description: "Exit with the verdict's status" },
  },
  run: async ({ text, lists, flags, console }) => {
    const unjudged = unjudgedOption(text.unjudged);
    if (text.candidate === undefined)
      throw usageError("ARGUMENT_MISSING", "`judge` needs --candidate", "See `stormlog-gate judge --help`.");
    if (text["base-run"] !== undefined && !["auto", "off"].includes(text["base-run"])) {
      throw usageError("OPTION_INVALID", `--base-run "${text["base-run"]}" is neither auto nor off`);
    }
    const candidate = await measurementsInput(text.candidate);
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
    if (!console.json)
      console.print(renderJudgementTerminal(judgement, { color: console.color, width: console.width }));
    console.document(judgementDocument(judgement));
    return flags["exit-code"] === true ? answerExit(judgement.verdict, unjudged) : ExitCode.pass;
  },
};
