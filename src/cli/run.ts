import { escapeTerminal } from "../core/escape.ts";
import { runGate } from "../gate/run-gate.ts";
import { ownBundle } from "../gate/shard-origin.ts";
import { stormlogReport } from "../report/documents/envelope.ts";
import { renderTerminal } from "../report/terminal/terminal.ts";
import type { CommandSpec } from "./command.ts";
import { requestOf, runOptions } from "./gate-options.ts";
import { interruptSignal } from "./interrupt.ts";
import { nextCommands } from "./next-commands.ts";
import { consolePorts } from "./ports.ts";
import { shownPath } from "./shown-path.ts";

export const run: CommandSpec = {
  name: "run",
  description: "Measure a command or the scenarios of the config file, judge, leave a bundle",
  positionals: [],
  takesCommand: true,
  options: runOptions(),
  run: async (invocation) => {
    const { console } = invocation;
    const request = ownBundle(requestOf(invocation, { baselines: ["file:baselines"], unjudged: "fail" }));
    const interrupt = interruptSignal();
    try {
      const { report, bundleDir, bundleError } = await runGate(request, consolePorts(console, interrupt.signal));
      const commands = nextCommands(invocation, bundleDir);
      console.print(renderTerminal(report, { color: console.color, width: console.width, commands }));
      const shown = escapeTerminal(shownPath(bundleDir));
      console.print(`Evidence: ${shown}  (open its timeline.html, or \`stormlog-gate show ${shown}\`)`);
      if (console.json) console.document(stormlogReport(report));
      if (bundleError !== null) throw bundleError;
      return report.exit_code;
    } finally {
      interrupt.dispose();
    }
  },
};
