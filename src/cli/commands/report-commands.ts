import { DEFAULTS } from "../../config/run-options.ts";
import { GateError } from "../../core/errors.ts";
import { readBundle } from "../../report/bundle/read-bundle.ts";
import {
  comparableRole,
  type GateReport,
  type RunReport,
  type ScenarioReport,
} from "../../report/model/gate-report.ts";
import { renderTerminal } from "../../report/terminal/terminal.ts";
import { nameInLeg, nextSteps } from "../../report/wording/next-steps.ts";
import { type Invocation, type ParsedArguments, parseArguments } from "../console/command.ts";
import { CONFIG_FILE } from "../console/gate-request.ts";
import { limitsFor, nextCommands } from "../console/next-commands.ts";
import { programArgv } from "../console/program.ts";
import { COMMANDS } from "./commands.ts";

type Given = Pick<ParsedArguments, "text" | "lists" | "rest">;

/** A bundle that a report was merged from. */
interface LegBundle {
  readonly bundle: string;
  readonly report: GateReport;
}

/** Stands for the bundle of a leg that is not where it was merged from. */
const UNKNOWN_BUNDLE = "LEG_BUNDLE";
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

/** What distinguishes a run from all others, in its leg's bundle and in the merged one. */
function runKey({ info: { session, scenario, run, clock, identity } }: RunReport): string {
  return JSON.stringify([session, scenario, run, clock.epoch_ns, identity.host, identity.pid]);
}

/** Whether both have a run in common. */
function sharesRun(a: ScenarioReport, b: ScenarioReport): boolean {
  const keys = new Set(a.runs.map(runKey));
  return b.runs.some((run) => keys.has(runKey(run)));
}

/**
 * The bundles that a report was merged from, without copies, as far as they still exist. Empty for a report that was
 * not merged or that proposes no command.
 */
async function legBundles(report: GateReport): Promise<readonly LegBundle[]> {
  const merged = argumentsOf(report, "merge");
  const proposing = report.scenarios.filter((one) => nextSteps(one).some(({ command }) => command !== undefined));
  const wanted = new Set(proposing.flatMap(({ runs }) => runs.map(runKey)));
  const found: LegBundle[] = [];
  if (merged === null || wanted.size === 0) return found;
  const { findInputs } = await import("../../merge/shard-find.ts");
  for (const directory of merged.positionals) {
    if (wanted.size === 0) break;
    for (const bundle of (await findInputs(directory)).bundles) {
      if (wanted.size === 0) return found;
      const read = await readBundle(bundle).catch(() => null);
      const keys = read?.report.scenarios.flatMap(({ runs }) => runs.map(runKey)) ?? [];
      if (read !== null && keys.some((key) => wanted.has(key))) found.push({ bundle, report: read.report });
      for (const key of keys) wanted.delete(key);
    }
  }
  return found;
}

/** The leg bundles that a merged scenario comes from, with its report there. */
function originsOf(scenario: ScenarioReport, name: string, legs: readonly LegBundle[]) {
  return legs.flatMap((leg) => {
    const within = leg.report.scenarios.find((one) => one.scenario === name && sharesRun(one, scenario));
    return within === undefined ? [] : [{ ...leg, scenario: within }];
  });
}

/** Whether one run has several ranks. */
function hasRanks({ runs }: ScenarioReport): boolean {
  return runs.some(({ analysis }) => (analysis?.ranks.participating_ranks.length ?? 0) > 1);
}

/**
 * The commands that a report proposes for a scenario, from how the report was made. Those of a merged report measure
 * what its leg measured, and accept the leg's own bundle where the merge renamed the scenario.
 */
export function reportCommands(
  report: GateReport,
  scenario: ScenarioReport,
  { bundle, program, legs }: { readonly bundle: string; readonly program: string; readonly legs: readonly LegBundle[] },
): ReturnType<typeof nextCommands> {
  // The name as it was measured: a merge puts the leg before it, and `--vary` shows several scenarios as one.
  const name = scenario.runs[0]?.info.scenario ?? scenario.scenario;
  const origins = originsOf(scenario, name, legs);
  const origin = origins[0] ?? { report, scenario };
  const merged = argumentsOf(report, "merge");
  const measured = argumentsOf(origin.report, "run") ?? recordedArguments(origin.scenario);
  const judgedBy = merged?.lists.baseline?.filter((spec) => spec !== "none") ?? [];
  const given = judgedBy.length === 0 ? measured : { ...measured, lists: { ...measured.lists, baseline: judgedBy } };
  const nameIn = (reports: readonly GateReport[]) => ({
    scenario: reports.some(({ scenarios }) => scenarios.length > 1) ? name : undefined,
  });
  const accepting = (bundles: readonly LegBundle[]): string =>
    nextCommands(
      given,
      bundles.map((one) => one.bundle),
      program,
      nameIn(bundles.map((one) => one.report)),
    ).accept;
  const unknown = (words: string): LegBundle[] => [{ bundle: words, report }];
  const commands = nextCommands(given, bundle, program, { ...nameIn([origin.report]), limits: limitsFor(scenario) });
  const isOfRecordings = merged !== null && origins.length === 0 && hasRanks(scenario);
  return {
    ...commands,
    ...(isOfRecordings ? { refresh: accepting(unknown(MERGED_BUNDLES)) } : {}),
    accept:
      nameInLeg(scenario) === null
        ? accepting([{ bundle, report }])
        : accepting(origins.length === 0 ? unknown(UNKNOWN_BUNDLE) : origins),
  };
}

/** Print a report with the commands that it proposes. @param shown the bundle as a person would write it */
export async function printReport(
  report: GateReport,
  { console, flags }: Pick<Invocation, "console" | "flags">,
  bundle: string,
  shown = bundle,
): Promise<void> {
  const made = { bundle, program: programArgv(), legs: await legBundles(report) };
  const commands = (scenario: ScenarioReport) => reportCommands(report, scenario, made);
  const { program } = made;
  console.print(
    renderTerminal(report, {
      ...console,
      verbose: flags.verbose === true,
      processes: flags.processes === true,
      bundle: shown,
      program,
      commands,
    }),
  );
}
