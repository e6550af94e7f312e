import { existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { GateError } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { annotationsOf } from "../../github/annotations.ts";
import { errorOutputs, type Outputs, outputsOf } from "../../github/outputs.ts";
import { raiseCommandFence } from "./command-fence.ts";
import type { EngineOutcome } from "./engine.ts";
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

/** A directory of this step's own; a second step of the job with the same gate id gets the next number. */
function freeBundleDir(step: Step, name: string): string {
  const parent = path.join(step.env.RUNNER_TEMP || tmpdir(), "stormlog");
  mkdirSync(parent, { recursive: true });
  for (let n = 1; ; n += 1) {
    const candidate = path.join(parent, n === 1 ? name : `${name}-${n}`);
    if (!existsSync(candidate)) return candidate;
  }
}

function setOutputs(step: Step, outputs: Outputs): void {
  for (const [name, value] of Object.entries(outputs)) step.runner.setOutput(name, value);
}

async function measure(step: Step, inputs: ActionInputs, bundleDir: string): Promise<EngineOutcome> {
  step.runner.startGroup(`${TITLE}: measuring`);
  const fence = raiseCommandFence(step.write);
  // Also when the process ends in the middle, as it does when the engine does not stop.
  const onExit = (): void => fence.close();
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
  }
}

function asGateError(error: unknown): GateError {
  if (error instanceof GateError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new GateError("INTERNAL", message, {
    kind: "error",
    hint: "This is a fault of Stormlog Gate; run the job again with debug logging to see where.",
    cause: error,
  });
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

async function reportOutcome(step: Step, settings: PublishSettings, outcome: EngineOutcome): Promise<number> {
  const { report, bundleDir } = outcome;
  const { published, warnings } = await publishReport(step, settings, report, bundleDir);
  // The engine reports an interruption as such; that it was our own timeout is known here.
  const stopped = step.interrupt.aborted ? asGateError(step.interrupt.reason) : null;
  const exitCode = stopped?.exitCode ?? report.exit_code;
  if (stopped !== null) sayError(step, stopped);
  const shown = { ...report, scenarios: stopped === null ? report.scenarios : [] };
  for (const { level, title, message } of annotationsOf({ ...shown, warnings: [...report.warnings, ...warnings] })) {
    step.runner[level](message, { title });
  }
  setOutputs(step, { ...outputsOf(report, published), "exit-code": String(exitCode) });
  const { runs, minutes } = report.cost;
  step.runner.info(`${TITLE}: ${report.word} (${runs} ${runs === 1 ? "run" : "runs"}, ${minutes.toFixed(1)} min)`);
  return stepExitCode(exitCode, settings.verdictFails);
}

/**
 * The whole step: measure and judge, then publish. Returns the exit status; throws only for wrong publishing inputs,
 * which {@link runStep} turns into an error of the step.
 */
async function work(step: Step, inputs: ActionInputs, settings: PublishSettings): Promise<number> {
  const bundleDir = freeBundleDir(step, settings.artifactName);
  const { artifactName, retentionDays } = settings;
  rememberForPost(step.runner, { bundleDir, artifactName, retentionDays });
  let outcome: EngineOutcome;
  try {
    outcome = await measure(step, inputs, bundleDir);
  } catch (cause) {
    const error = asGateError(step.interrupt.aborted ? step.interrupt.reason : cause);
    sayError(step, error);
    const { commentUrl, warnings } = await publishError(step, settings, error);
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
