import { DEFAULTS } from "../../config/run-options.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { readBundle } from "../../report/bundle/read-bundle.ts";
import { renderTerminal } from "../../report/terminal/terminal.ts";
import type { Invocation } from "../console/command.ts";
import { programArgv } from "../console/program.ts";
import { legBundles, reportCommands } from "./report-commands.ts";

export async function show({ positionals, flags, console }: Invocation): Promise<number> {
  const bundle = positionals[0] ?? DEFAULTS.bundle;
  const { report, envelope, note } = await readBundle(bundle);
  if (note !== null) process.stderr.write(`note: ${escapeTerminal(note)}\n`);
  if (!console.json) {
    const made = { bundle, program: programArgv(), legs: await legBundles(report) };
    console.print(
      renderTerminal(report, {
        ...console,
        verbose: flags.verbose === true,
        bundle,
        program: made.program,
        commands: (scenario) => reportCommands(report, scenario, made),
      }),
    );
  }
  console.document(envelope);
  return flags["exit-code"] === true ? report.exit_code : ExitCode.pass;
}
