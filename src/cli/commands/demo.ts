import path from "node:path";
import { DEFAULTS } from "../../config/run-options.ts";
import { GateError } from "../../core/errors.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { DEMO_STATES, type DemoState, demoWorkload, runDemo } from "../../lab/demo.ts";
import type { GateReport } from "../../report/model/gate-report.ts";
import { renderTerminal } from "../../report/terminal/terminal.ts";
import { checkDocument } from "../../verdict/model/judgement-document.ts";
import type { Invocation } from "../console/command.ts";
import { nextCommands } from "../console/next-commands.ts";
import { consolePorts, interruptSignal } from "../console/ports.ts";
import { programArgv } from "../console/program.ts";

const DIRECTORY = DEFAULTS.demo;
const EXPECTED: Readonly<Record<DemoState, string>> = { clean: "pass", leaky: "fail", fixed: "pass" };
const CHAPTER: Readonly<Record<DemoState, string>> = {
  clean: "A change that does not touch memory",
  leaky: 'A change that keeps a copy of every step\'s activations "for debugging"',
  fixed: "The fix: a bounded history of scalar summaries",
};

/** The verdict of one state for `--json`. */
function verdictOf(report: GateReport | undefined): unknown {
  if (report === undefined) return null;
  const scenario = report.scenarios[0];
  return {
    verdict: report.verdict,
    confirmed: report.confirmed,
    exit_code: report.exit_code,
    checks: (scenario?.judgement?.checks ?? []).map(checkDocument),
  };
}

export async function demo({ console, argv }: Invocation): Promise<number> {
  const interrupt = interruptSignal();
  const started = performance.now();
  const program = programArgv();
  const directory = path.resolve(DIRECTORY);
  const reports = await runDemo(
    directory,
    argv,
    process.env,
    {
      baseline: (runs) =>
        console.print(
          `Measuring the baseline: ${runs} clean runs of leak-lab/demo/workload.mjs, about two seconds each.\n`,
        ),
      judging: (state) => console.print(`\n── ${CHAPTER[state]} ──\n`),
      judged: (state, report) => {
        const measured = {
          text: { scenario: "demo" },
          lists: { baseline: [`file:${DIRECTORY}/baseline`] },
          rest: [process.execPath, demoWorkload(), "clean"],
        };
        const commands = nextCommands(measured, path.join(directory, state), program);
        console.print(
          renderTerminal(report, {
            ...console,
            bundle: `${DIRECTORY}/${state}`,
            program,
            commands: () => commands,
          }),
        );
      },
    },
    consolePorts(console, interrupt, true),
  );
  console.document(Object.fromEntries(DEMO_STATES.map((state) => [state, verdictOf(reports[state])])));
  if (interrupt.aborted) return ExitCode.interrupted;
  const surprises = DEMO_STATES.filter((state) => reports[state]?.verdict !== EXPECTED[state]);
  if (surprises.length > 0) {
    throw new GateError("DEMO_SURPRISE", `the verdict on ${surprises.join(" and ")} was unexpected`, {
      hint: `A very busy machine can cause this. The measurements are in ${DIRECTORY}/.`,
    });
  }
  const seconds = Math.round((performance.now() - started) / 1000);
  console.print(
    `\nPass, fail, pass in ${seconds} s, by measurement. The leak again: ${DIRECTORY}/leaky/timeline.html, or`,
  );
  console.print(`  ${program} show ${DIRECTORY}/leaky`);
  console.print("Then measure a command of your own in place of the one after `--`:");
  // A command that any machine with this program has.
  for (const words of ["baseline refresh", "run"])
    console.print(`  ${program} ${words} -- node -e 'setTimeout(() => {}, 1000)'`);
  return ExitCode.pass;
}
