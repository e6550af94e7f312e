import { DEFAULTS } from "../config/run-options.ts";
import { escapeTerminal } from "../core/escape.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { readBundle } from "../report/bundle/bundle.ts";
import type { GateReport, ScenarioReport } from "../report/documents/model.ts";
import { renderTerminal } from "../report/terminal/terminal.ts";
import type { Invocation } from "./command.ts";
import { nextCommands } from "./next-commands.ts";
import { programWords } from "./program.ts";

/** The commands that the report proposes, with the store and the command of the run that made this bundle. */
function commandsOf(report: GateReport, scenario: ScenarioReport, bundle: string, program: string) {
  const source = scenario.baseline?.source ?? null;
  const lists = source === null || source === DEFAULTS.baseline ? {} : { baseline: [source] };
  const several = report.scenarios.length > 1 ? { scenario: scenario.scenario } : {};
  return nextCommands({ text: {}, lists, rest: scenario.invocation?.command ?? null }, bundle, program, several);
}

export async function show({ positionals, flags, console }: Invocation): Promise<number> {
  const bundle = positionals[0] ?? DEFAULTS.bundle;
  const { report, envelope, note } = await readBundle(bundle);
  const { color, width } = console;
  if (note !== null) process.stderr.write(`note: ${escapeTerminal(note)}\n`);
  const program = programWords();
  if (!console.json) {
    console.print(
      renderTerminal(report, {
        color,
        width,
        verbose: flags.verbose === true,
        bundle,
        program,
        commands: (scenario) => commandsOf(report, scenario, bundle, program),
      }),
    );
  }
  console.document(envelope);
  return flags["exit-code"] === true ? report.exit_code : ExitCode.pass;
}
