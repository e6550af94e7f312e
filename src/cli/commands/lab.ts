import path from "node:path";
import { usageError } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { selectPatterns } from "../../lab/catalogue.ts";
import { readRounds, writeLabReport } from "../../lab/files.ts";
import { labTerminal } from "../../lab/report/terminal.ts";
import { actionOf, GLOBAL_OPTIONS, type Invocation } from "../console/command.ts";
import { shownPath } from "../console/program.ts";
import { LAB_DIRECTORY } from "../lab/options.ts";
import { printRows, runRound } from "../lab/run.ts";
import { scalePattern } from "../lab/scale.ts";

/** `lab report`: rounds and recordings side by side. */
async function reportRounds({ console, positionals, text }: Invocation): Promise<number> {
  const places = positionals.slice(1);
  if (places.length === 0)
    throw usageError(
      "ARGUMENT_MISSING",
      "`lab report` needs a directory of `lab run`, or one with recordings",
      `The default of \`lab run\` is ${LAB_DIRECTORY}; recordings are in PATTERN/leaky and PATTERN/fixed.`,
    );
  const rounds = await readRounds(places.map((place) => path.resolve(place)));
  const documents = rounds.map(({ document }) => document);
  for (const line of labTerminal(documents, console.width)) console.print(line);
  const files = text.output === undefined ? [] : await writeLabReport(path.resolve(text.output), rounds);
  if (files.length > 0) console.print("");
  for (const file of files) console.print(`wrote ${escapeTerminal(shownPath(file))}`);
  console.document({ rounds: documents, files: files.map(shownPath) });
  return ExitCode.pass;
}

function list({ console, positionals }: Invocation): number {
  const entries = selectPatterns(positionals.slice(1));
  printRows(
    console,
    ["pattern", "needs", "processes", "what leaks"],
    [false, false, true, false],
    entries.map(({ name, framework, ranks, title }) => [name, framework, String(ranks), title]),
  );
  console.print("\n`stormlog-gate lab run PATTERN…` judges the leaky state of each against its fixed one.");
  console.document({ patterns: entries });
  return ExitCode.pass;
}

/** What each action takes. */
const ACTIONS = {
  list: { options: [], run: async (invocation: Invocation) => list(invocation) },
  run: {
    options: ["device", "scale", "steps", "python", "runs", "baseline", "output"],
    run: runRound,
  },
  report: { options: ["output"], run: reportRounds },
  scale: {
    options: ["device", "scale", "steps", "batch", "by", "from", "to", "python", "runs", "output"],
    run: scalePattern,
  },
} as const satisfies Readonly<
  Record<string, { readonly options: readonly string[]; readonly run: (invocation: Invocation) => Promise<number> }>
>;

export type LabAction = keyof typeof ACTIONS;

/** Refuse an option that the action does not use. @throws GateError OPTION_INVALID (usage) */
function rejectUnknownKeys(action: LabAction, { text, lists }: Invocation): void {
  const taken: readonly string[] = ACTIONS[action].options;
  const given = Object.entries({ ...text, ...lists }).filter(([, value]) => value !== undefined);
  const unused = given.map(([name]) => name).find((name) => !taken.includes(name) && !(name in GLOBAL_OPTIONS));
  if (unused !== undefined) throw usageError("OPTION_INVALID", `\`lab ${action}\` takes no --${unused}`);
  if ((lists.baseline?.length ?? 0) > 1)
    throw usageError("OPTION_INVALID", "`lab run` judges by one --baseline", "Leave all but one out.");
}

export async function lab(invocation: Invocation): Promise<number> {
  const action = actionOf("lab", ACTIONS, invocation.positionals[0]);
  rejectUnknownKeys(action, invocation);
  return ACTIONS[action].run(invocation);
}
