import { DEFAULTS } from "../../config/run-options.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { oneLine } from "../../core/text.ts";
import { ownBundle } from "../../gate/run/shard-origin.ts";
import { runGate } from "../../gate/run-gate.ts";
import type { GateReport, ScenarioReport } from "../../report/model/gate-report.ts";
import type { Invocation } from "../console/command.ts";
import { requestOf } from "../console/gate-request.ts";
import { consolePorts, interruptSignal } from "../console/ports.ts";

/** What only the report needs, loaded once the command runs. */
async function loadReport() {
  const [next, program, terminal] = await Promise.all([
    import("../console/next-commands.ts"),
    import("../console/program.ts"),
    import("../../report/terminal/terminal.ts"),
  ]);
  return { ...next, ...program, ...terminal };
}

export async function run(invocation: Invocation): Promise<number> {
  const { console, flags } = invocation;
  const request = ownBundle(requestOf(invocation, { baselines: [DEFAULTS.baseline], unjudged: "fail" }));
  const interrupt = interruptSignal();
  const commandsFor = async (scenarios: readonly ScenarioReport[]) => {
    const { limitsFor, nextCommands, programArgv } = await loadReport();
    return (scenario: ScenarioReport) =>
      nextCommands(invocation, request.bundle, programArgv(), {
        scenario: scenarios.length > 1 ? scenario.scenario : undefined,
        limits: limitsFor(scenario),
      });
  };
  const acceptCommand = async (scenarios: readonly ScenarioReport[]) => {
    const commands = await commandsFor(scenarios);
    return (scenario: ScenarioReport) => commands(scenario).accept;
  };
  let printed = 0;
  const decided = async (report: GateReport) => {
    const { renderTerminal, programArgv, shownPath } = await loadReport();
    const commands = await commandsFor(report.scenarios);
    const options = {
      ...console,
      verbose: flags.verbose === true,
      bundle: shownPath(request.bundle),
      program: programArgv(),
      commands,
    };
    console.print(renderTerminal(report, options));
    printed = report.warnings.length;
  };
  const ports = { ...consolePorts(console, interrupt), acceptCommand, decided, load: loadReport };
  const { report, bundleError } = await runGate(request, ports);
  // An incomplete bundle has an error of its own.
  if (bundleError === null && !console.quiet)
    for (const note of report.warnings.slice(printed)) console.print(`  note: ${escapeTerminal(oneLine(note))}`);
  if (console.json) {
    const { stormlogReport } = await import("../../report/documents/envelope.ts");
    console.document(stormlogReport(report));
  }
  if (bundleError !== null) throw bundleError;
  return report.exit_code;
}
