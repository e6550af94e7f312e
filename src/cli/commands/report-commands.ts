import { DEFAULTS } from "../../config/run-options.ts";
import { GateError } from "../../core/errors.ts";
import { comparableRole, type GateReport, type ScenarioReport } from "../../report/model/gate-report.ts";
import { renderTerminal } from "../../report/terminal/terminal.ts";
import { nameInLeg } from "../../report/wording/next-steps.ts";
import { type Invocation, type ParsedArguments, parseArguments } from "../console/command.ts";
import { CONFIG_FILE } from "../console/gate-request.ts";
import { limitsFor, nextCommands } from "../console/next-commands.ts";
import { programArgv } from "../console/program.ts";
import { COMMANDS } from "./commands.ts";

type Given = Pick<ParsedArguments, "text" | "lists" | "rest">;

/** Stands for the bundle of a leg, of which the merged report has only the name. */
const LEG_BUNDLE = "LEG_BUNDLE";
/** Stands for merged bundles of recordings of several ranks, which no command can measure on this machine alone. */
const MERGED_BUNDLES = "MERGED_BUNDLES";

/** The arguments of `run` or `merge` that made a report; null where something else made it. */
function argumentsOf({ tool: { argv } }: GateReport, command: "run" | "merge"): ParsedArguments | null {
  const spec = COMMANDS[command];
  if (argv[1] !== command || spec === undefined) return null;
  try {
    return parseArguments(spec, argv.slice(2));
  } catch (error) {
    // Another release may have other options, and a file may contain anything.
    if (error instanceof GateError) return null;
    throw error;
  }
}

/** The command, the scenario and the store of a report that `run` did not make, from its recordings. */
function recordedArguments({ scenario, runs, baseline, invocation }: ScenarioReport): Given {
  const info = runs.find(({ role }) => role === comparableRole(runs))?.info;
  const isDeclared = (info?.fingerprint.scenario_definition ?? null) !== null || invocation?.command === null;
  const name = info?.scenario ?? scenario;
  const config = isDeclared ? (invocation?.config ?? CONFIG_FILE) : CONFIG_FILE;
  const source = baseline?.source ?? DEFAULTS.baseline;
  return {
    text: {
      ...(config === CONFIG_FILE ? {} : { config }),
      ...(isDeclared || name !== DEFAULTS.scenario ? { scenario: name } : {}),
    },
    lists: source === DEFAULTS.baseline ? {} : { baseline: [source] },
    // Stands for a command that the report does not contain.
    rest: isDeclared ? null : (info?.command.argv ?? invocation?.command ?? ["CMD"]),
  };
}

/** Whether one run has several ranks. */
function hasRanks({ runs }: ScenarioReport): boolean {
  return runs.some(({ analysis }) => (analysis?.ranks.participating_ranks.length ?? 0) > 1);
}

/**
 * The commands that a report proposes for a scenario, from how the report was made. Where a merge renamed the scenario,
 * the leg's own bundle is to be accepted, not the merged one.
 */
export function reportCommands(
  report: GateReport,
  scenario: ScenarioReport,
  { bundle, program }: { readonly bundle: string; readonly program: string },
): ReturnType<typeof nextCommands> {
  // The name as it was measured: a merge puts the leg before it, and `--vary` shows several scenarios as one.
  const name = scenario.runs[0]?.info.scenario ?? scenario.scenario;
  const merged = argumentsOf(report, "merge");
  const measured = argumentsOf(report, "run") ?? recordedArguments(scenario);
  const judgedBy = merged?.lists.baseline?.filter((spec) => spec !== "none") ?? [];
  const given = judgedBy.length === 0 ? measured : { ...measured, lists: { ...measured.lists, baseline: judgedBy } };
  const only = { scenario: report.scenarios.length > 1 ? name : undefined };
  const accepting = (from: string): string => nextCommands(given, from, program, only).accept;
  const commands = nextCommands(given, bundle, program, { ...only, limits: limitsFor(scenario) });
  return {
    ...commands,
    ...(merged !== null && hasRanks(scenario) ? { refresh: accepting(MERGED_BUNDLES) } : {}),
    accept: accepting(nameInLeg(scenario) === null ? bundle : LEG_BUNDLE),
  };
}

/** Print a report with the commands that it proposes. @param shown the bundle as a person would write it, if any */
export function printReport(
  report: GateReport,
  { console, flags }: Pick<Invocation, "console" | "flags">,
  bundle: string,
  shown: string | undefined,
): void {
  const program = programArgv();
  console.print(
    renderTerminal(report, {
      ...console,
      verbose: flags.verbose === true,
      processes: flags.processes === true,
      ...(shown === undefined ? {} : { bundle: shown }),
      program,
      commands: (scenario) => reportCommands(report, scenario, { bundle, program }),
    }),
  );
}
