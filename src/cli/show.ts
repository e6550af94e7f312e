import { DEFAULTS } from "../config/options.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { readBundle } from "../report/bundle/bundle.ts";
import { renderTerminal } from "../report/terminal/terminal.ts";
import type { CommandSpec } from "./command.ts";

export const show: CommandSpec = {
  name: "show",
  description: "Print the report of a bundle",
  positionals: { "[BUNDLE]": `The bundle (default ${DEFAULTS.bundle})` },
  example: "stormlog-gate show stormlog-bundle",
  exits: ["pass", "error", "gateFailed", "invalidInput", "unjudged"],
  options: { "exit-code": { type: "boolean", description: "Exit with the status of the bundle's gate" } },
  run: async ({ positionals, flags, console }) => {
    const bundle = positionals[0] ?? DEFAULTS.bundle;
    const { report, envelope } = await readBundle(bundle);
    const { color, width } = console;
    if (!console.json) console.print(renderTerminal(report, { color, width, verbose: flags.verbose === true, bundle }));
    console.document(envelope);
    return flags["exit-code"] === true ? report.exit_code : ExitCode.pass;
  },
};
