import { usageError } from "../core/errors.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { selectPatterns } from "../gate/lab-catalogue.ts";
import { SCALE_AXES } from "../report/lab-scale-document.ts";
import type { CommandSpec, Invocation } from "./command.ts";
import { DEVICES, LAB_FOLDER, SCALES } from "./lab-options.ts";
import { reportRounds } from "./lab-report.ts";
import { printRows } from "./lab-rows.ts";
import { runRound } from "./lab-run.ts";
import { SCALE_FOLDER, scalePattern } from "./lab-scale.ts";

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

/** Options of a search alone. */
const SEARCH = ["batch", "by", "from", "to"] as const;

/**
 * An option that means nothing to an action is refused, never ignored.
 * @throws GateError OPTION_INVALID (usage)
 */
function refuseStrangers({ positionals, text, lists }: Invocation): void {
  const [action] = positionals;
  const strange =
    action === "scale"
      ? lists.baseline === undefined
        ? undefined
        : "baseline"
      : SEARCH.find((name) => text[name] !== undefined);
  if (strange !== undefined) throw usageError("OPTION_INVALID", `\`lab ${action}\` takes no --${strange}`);
}

export const lab: CommandSpec = {
  name: "lab",
  description:
    "The leak lab: list its patterns, judge leaky against fixed, report across backends, search the size at which a leak shows",
  positionals: ["ACTION", "[PATTERN|FOLDER]…"],
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
      description: `Folder of the results (run: ${LAB_FOLDER}, scale: ${SCALE_FOLDER}/PATTERN) or of the report`,
      valueHint: "DIR",
    },
  },
  run: async (invocation) => {
    refuseStrangers(invocation);
    switch (invocation.positionals[0]) {
      case "list":
        return list(invocation);
      case "run":
        return runRound(invocation);
      case "report":
        return reportRounds(invocation);
      case "scale":
        return scalePattern(invocation);
      default:
        throw usageError(
          "ACTION_UNKNOWN",
          `\`lab ${invocation.positionals[0] ?? ""}\` is unknown`,
          "Actions: list, run, report, scale.",
        );
    }
  },
};
