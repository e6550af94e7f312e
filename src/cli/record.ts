import path from "node:path";
import { GateError, usageError } from "../core/errors.ts";
import { escapeTerminal } from "../core/escape.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { formatBytes, formatDuration } from "../core/units.ts";
import { recordOnce } from "../gate/record-once.ts";
import type { CommandSpec } from "./command.ts";
import { MEASURE_OPTIONS, requestOf } from "./gate-options.ts";
import { interruptSignal } from "./interrupt.ts";
import { consolePorts } from "./ports.ts";
import { shownPath } from "./shown-path.ts";

export const record: CommandSpec = {
  name: "record",
  description: "Measure one run and leave its run directory",
  positionals: [],
  takesCommand: true,
  options: {
    ...MEASURE_OPTIONS,
    output: { type: "string", description: "Run directory to create (default stormlog-recording)", valueHint: "DIR" },
  },
  run: async (invocation) => {
    const { console, text } = invocation;
    const request = requestOf(invocation, { baselines: [], unjudged: "pass" });
    const scenario = request.scenarios[0];
    if (scenario === undefined || request.scenarios.length > 1) {
      throw usageError("SCENARIO_AMBIGUOUS", "`record` measures one scenario", "Choose one with --scenario NAME.");
    }
    const directory = path.resolve(text.output ?? "stormlog-recording");
    const interrupt = interruptSignal();
    try {
      const finished = await recordOnce(request, scenario, directory, consolePorts(console, interrupt.signal));
      const { info, ending } = finished;
      for (const warning of finished.warnings) console.print(`warning: ${escapeTerminal(warning)}`);
      for (const peak of info.peaks) {
        console.print(`${peak.device} ${peak.metric}  peak ${formatBytes(peak.bytes)} (${peak.kind}, ${peak.source})`);
      }
      const rate = info.sampler.host_rate_hz === null ? "" : ` at ${info.sampler.host_rate_hz.toFixed(0)} Hz`;
      console.print(`Recorded ${formatDuration(info.clock.duration_s ?? 0)}${rate}: ${shownPath(directory)}`);
      console.document(info);
      if (ending.kind === "interrupted") return ExitCode.interrupted;
      if (ending.kind === "failed") {
        throw new GateError(ending.code, ending.message, {
          kind: "error",
          ...(ending.hint === null ? {} : { hint: ending.hint }),
        });
      }
      return ExitCode.pass;
    } finally {
      interrupt.dispose();
    }
  },
};
