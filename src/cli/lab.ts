import { usageError } from "../core/errors.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { selectPatterns } from "../lab/catalogue.ts";
import { SCALE_AXES } from "../lab/report/scale-document.ts";
import { actionOf, type CommandSpec, type Invocation } from "./command.ts";
import { DEVICES, LAB_DIRECTORY, SCALES } from "./lab-options.ts";
import { reportRounds } from "./lab-report.ts";
import { printRows } from "./lab-rows.ts";
import { runRound } from "./lab-run.ts";
import { SCALE_DIRECTORY, scalePattern } from "./lab-scale.ts";

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
  Record<string, { readonly options: readonly string[]; readonly run: CommandSpec["run"] }>
>;

const ACTION_TEXTS: Readonly<Record<keyof typeof ACTIONS, string>> = {
  list: "The patterns",
  run: "Judge the leaky state of patterns against their fixed one",
  report: "Rounds or recordings side by side",
  scale: "Search the size from which on the leak of a pattern is detected",
};

/** Refuse an option that the action does not use. @throws GateError OPTION_INVALID (usage) */
function rejectUnknownKeys(action: keyof typeof ACTIONS, { text, lists }: Invocation): void {
  const taken: readonly string[] = ACTIONS[action].options;
  const unused = Object.keys(lab.options).find(
    (name) => (text[name] !== undefined || lists[name] !== undefined) && !taken.includes(name),
  );
  if (unused !== undefined) throw usageError("OPTION_INVALID", `\`lab ${action}\` takes no --${unused}`);
  if ((lists.baseline?.length ?? 0) > 1)
    throw usageError("OPTION_INVALID", "`lab run` judges by one --baseline", "Leave all but one out.");
}

export const lab: CommandSpec = {
  name: "lab",
  description:
    "The leak lab: list its patterns, judge leaky against fixed, report across backends, search the size at which a leak shows",
  positionals: {
    ACTION: "One of the actions below",
    "[PATTERN|FOLDER]…":
      "list and run: patterns (default all); scale: one pattern; report: directories of rounds or recordings",
  },
  actions: ACTION_TEXTS,
  example: "stormlog-gate lab run node_cache --runs 5",
  exits: ["pass", "error", "invalidInput", "interrupted"],
  options: {
    device: { type: "string", description: "Device of the patterns (default auto)", valueHint: DEVICES.join("|") },
    scale: { type: "string", description: "Size of a run (default tiny)", valueHint: SCALES.join("|") },
    steps: { type: "string", description: "Steps of a run (default: the scale's)", valueHint: "N" },
    batch: { type: "string", description: "Images in a batch (scale; default: the scale's)", valueHint: "N" },
    by: { type: "string", description: "What a search varies (scale; default steps)", valueHint: SCALE_AXES.join("|") },
    from: { type: "string", description: "Smallest size of a search", valueHint: "N" },
    to: { type: "string", description: "Largest size of a search (default 64 times the scale's)", valueHint: "N" },
    python: { type: "string", description: "Python with the frameworks (default python3)", valueHint: "PROGRAM" },
    runs: { type: "string", description: "Runs of the fixed state for the baseline (default 5)", valueHint: "N" },
    baseline: {
      type: "string",
      multiple: true,
      description: "Judge by a stored baseline instead of measuring one",
      valueHint: "SPEC",
    },
    output: {
      type: "string",
      description: `Directory of the results (run: ${LAB_DIRECTORY}, scale: ${SCALE_DIRECTORY}/PATTERN) or of the report`,
      valueHint: "DIR",
    },
  },
  run: async (invocation) => {
    const action = actionOf("lab", ACTION_TEXTS, invocation.positionals[0]);
    rejectUnknownKeys(action, invocation);
    return ACTIONS[action].run(invocation);
  },
};
