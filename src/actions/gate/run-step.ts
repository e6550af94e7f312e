import { existsSync } from "node:fs";
import type { GateError } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { plural } from "../../core/text.ts";
import { annotationsOf } from "../../github/comment/annotations.ts";
import { errorOutputs, type Outputs, outputsOf } from "../../github/outputs.ts";
import { freeBundleDirectory } from "../bundle-directory.ts";
import { asGateError } from "../gate-error.ts";
import { raiseCommandFence } from "./command-fence.ts";
import type { EngineOutcome } from "./engine.ts";
import { guardFileCommands, writtenWarning } from "./file-commands.ts";
import { type ActionInputs, type PublishSettings, publishSettings } from "./inputs.ts";
import { publishError, publishReport } from "./publish.ts";
import { rememberForPost } from "./state.ts";
import type { Step } from "./step.ts";

const TITLE = "Stormlog Gate";

/**
 * Exit status of the step. `fail-on: never` exempts what the gate thinks of the memory; a command that could not be
 * measured, wrong input and an interruption stay failures.
 */
export function stepExitCode(exitCode: number, verdictFails: boolean): number {
  switch (exitCode) {
    case ExitCode.pass:
    case ExitCode.findings:
      return ExitCode.pass;
    case ExitCode.gateFailed:
    case ExitCode.unjudged:
      return verdictFails ? exitCode : ExitCode.pass;
    default:
      return exitCode;
  }
}

function setOutputs(step: Step, outputs: Outputs): void {
  for (const [name, value] of Object.entries(outputs)) step.runner.setOutput(name, value);
}

async function measure(step: Step, inputs: ActionInputs, bundleDir: string): Promise<EngineOutcome> {
  step.runner.startGroup(`${TITLE}: measuring`);
  const fence = raiseCommandFence(step.write);
  const files = guardFileCommands(step.env);
  // Also when the process ends in the middle, as it does when the engine does not stop.
  const onExit = (): void => {
    fence.close();
    files.restore();
  };
  process.once("exit", onExit);
  try {
    return await step.engine(inputs, {
      bundleDir,
      env: step.env,
      interrupt: step.interrupt,
      log: (line) => fence.write(`${line}\n`),
      stdout: (chunk) => fence.write(chunk),
      stderr: (chunk) => fence.write(chunk),
    });
  } finally {
    process.off("exit", onExit);
    fence.close();
    step.runner.endGroup();
    const written = writtenWarning(files.restore());
    if (written !== null) step.runner.warning(written, { title: TITLE });
  }
}

function sayError(step: Step, error: GateError): void {
  const where = error.where === undefined || error.message.includes(error.where) ? "" : ` (${error.where})`;
  const hint = error.hint === undefined ? "" : ` ${error.hint}`;
  step.runner.error(`${error.message}${where}.${hint}`, { title: `${TITLE}: ${error.code}` });
  const stack = error.cause instanceof Error ? error.cause.stack : error.stack;
  if (step.env.RUNNER_DEBUG === "1" && stack) {
    // The runner takes an indented `::error::` for a command too, and a message may hold what somebody else wrote.
    step.write(`${escapeTerminal(stack).replace(/^/gm, "| ")}\n`);
  }
}

/** A breach that was found before the time was over stays one; nothing else that was cut off is better than the cut. */
function stoppedExitCode(stopped: GateError, reported: number): number {
  return stopped.code === "STEP_TIMEOUT" && reported === ExitCode.gateFailed ? reported : stopped.exitCode;
}

async function reportOutcome(step: Step, settings: PublishSettings, outcome: EngineOutcome): Promise<number> {
  const { report, bundleDir } = outcome;
  const { published, warnings } = await publishReport(step, settings, report, bundleDir);
  // The engine reports an interruption as such; that it was our own timeout is known here.
  const stopped = step.interrupt.aborted ? asGateError(step.interrupt.reason) : null;
  const exitCode = stopped === null ? report.exit_code : stoppedExitCode(stopped, report.exit_code);
  if (stopped !== null) sayError(step, stopped);
  const shown = { ...report, scenarios: stopped === null ? report.scenarios : [] };
  for (const annotation of annotationsOf({ ...shown, warnings: [...report.warnings, ...warnings] })) {
    const { level, title, message, place } = annotation;
    step.runner[level](message, { title, ...(place === undefined ? {} : { file: place.file, startLine: place.line }) });
  }
  setOutputs(step, { ...outputsOf(report, published), "exit-code": String(exitCode) });
  const { runs, minutes } = report.cost;
  step.runner.info(`${TITLE}: ${report.word} (${plural(runs, "run")}, ${minutes.toFixed(1)} min)`);
  return stepExitCode(exitCode, settings.verdictFails);
}

/**
 * The whole step: measure and judge, then publish. Returns the exit status; throws only for wrong publishing inputs,
 * which {@link runStep} turns into an error of the step.
 */
async function work(step: Step, inputs: ActionInputs, settings: PublishSettings): Promise<number> {
  const bundleDir = freeBundleDirectory(step.env, settings.artifactName);
  const { artifactName, retentionDays } = settings;
  rememberForPost(step.runner, { bundleDir, artifactName, retentionDays });
  let outcome: EngineOutcome;
  try {
    outcome = await measure(step, inputs, bundleDir);
  } catch (cause) {
    const error = asGateError(step.interrupt.aborted ? step.interrupt.reason : cause);
    sayError(step, error);
    const { commentUrl, warnings } = await publishError(step, settings, error, {
      bundleDir,
      scenario: inputs.scenario,
    });
    for (const warning of warnings) step.runner.warning(warning, { title: TITLE });
    setOutputs(step, errorOutputs(error.exitCode, { ...nothingPublished(bundleDir), commentUrl }));
    return error.exitCode;
  }
  return reportOutcome(step, settings, outcome);
}

function nothingPublished(bundleDir: string) {
  return {
    bundlePath: existsSync(bundleDir) ? bundleDir : "",
    reportPath: "",
    artifactId: null,
    artifactUrl: null,
    timelineUrl: null,
    commentUrl: null,
  };
}

/** Run the step to its exit status. `prepare` arms signals and timeout once the settings are known. */
export async function runStep(
  inputs: ActionInputs,
  base: Omit<Step, "interrupt">,
  prepare: (settings: PublishSettings) => AbortSignal,
): Promise<number> {
  if (inputs.token !== undefined) base.runner.setSecret(inputs.token);
  let settings: PublishSettings;
  try {
    settings = publishSettings(inputs);
  } catch (cause) {
    const error = asGateError(cause);
    sayError({ ...base, interrupt: new AbortController().signal }, error);
    for (const [name, value] of Object.entries(errorOutputs(error.exitCode, nothingPublished("")))) {
      base.runner.setOutput(name, value);
    }
    return error.exitCode;
  }
  return work({ ...base, interrupt: prepare(settings) }, inputs, settings);
}
