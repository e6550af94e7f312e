import { usageError } from "../../core/errors.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { selectPatterns } from "../../lab/catalogue.ts";
import { actionOf, GLOBAL_OPTIONS, type Invocation } from "../console/command.ts";
import { reportRounds } from "../lab/report.ts";
import { printRows } from "../lab/rows.ts";
import { runRound } from "../lab/run.ts";
import { scalePattern } from "../lab/scale.ts";

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
