import { COMMAND_LINE_BASELINE } from "../config/options.ts";
import { runGate } from "../gate/run-gate.ts";
import { ownBundle } from "../gate/shard-origin.ts";
import type { CommandSpec } from "./command.ts";
import { requestOf, runOptions } from "./gate-options.ts";
import { consolePorts, interruptSignal } from "./ports.ts";

export const run: CommandSpec = {
  name: "run",
  description: "Measure a command or the scenarios of the config file, judge, leave a bundle",
  positionals: {},
  example: "stormlog-gate run --budget host=2GiB -- python train.py --steps 200",
  exits: ["pass", "error", "gateFailed", "invalidInput", "unjudged", "interrupted"],
  takesCommand: true,
  options: runOptions(),
  run: async (invocation) => {
    const { console, flags } = invocation;
    const request = ownBundle(requestOf(invocation, { baselines: [COMMAND_LINE_BASELINE], unjudged: "fail" }));
    const interrupt = interruptSignal();
    try {
      const { report, bundleDir, bundleError } = await runGate(request, consolePorts(console, interrupt.signal));
      // Loaded after measuring, as everything is that only the report needs.
      const [{ renderTerminal }, { nextCommands }, { programWords }, { shownPath }] = await Promise.all([
        import("../report/terminal/terminal.ts"),
        import("./next-commands.ts"),
        import("./program.ts"),
        import("./shown-path.ts"),
      ]);
      const program = programWords();
      const commands = nextCommands(invocation, bundleDir, program);
      const { color, width } = console;
      const options = {
        color,
        width,
        verbose: flags.verbose === true,
        bundle: shownPath(bundleDir),
        program,
        commands,
      };
      console.print(renderTerminal(report, options));
      if (console.json) {
        const { stormlogReport } = await import("../report/documents/envelope.ts");
        console.document(stormlogReport(report));
      }
      if (bundleError !== null) throw bundleError;
      return report.exit_code;
    } finally {
      interrupt.dispose();
    }
  },
};
