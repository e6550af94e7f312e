import { setOutput, setSecret, error as showError, warning } from "@actions/core";
import type { GateError } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import type { Environment } from "../../core/process/environment.ts";
import { plural } from "../../core/text.ts";
import type { GatePorts } from "../../gate/ports/ports.ts";
import { annotationsOf } from "../../github/comment/annotations.ts";
import { errorOutputs, type Outputs, outputsOf, type Published } from "../../github/outputs.ts";
import type { GateReport } from "../../report/model/gate-report.ts";
import { freeBundleDirectory } from "../bundle-directory.ts";
import { exposureWarning, inspectableWarning } from "../closed-process.ts";
import { asGateError, stepExitCode } from "../gate-error.ts";
import { watchInterruption } from "../interrupt.ts";
import { log } from "../log.ts";
import { withStopCommands } from "../stop-commands.ts";
import { type ActionInputs, type GateStep, publishSettings, readInputs } from "./inputs.ts";
import { errorReport, nothingPublished, publishReport } from "./publish.ts";

const title = "Stormlog Gate";

/** What the engine gets from the step. */
export interface EngineRun {
  readonly inputs: ActionInputs;
  readonly env: Environment;
  /** Absolute directory for the bundle; does not exist yet. */
  readonly bundleDir: string;
  /** Fires with a GateError as its reason: the step was cancelled or takes too long. */
  readonly signal: AbortSignal;
  readonly ports: GatePorts;
}

/** The gate, from inputs to bundle. @throws GateError when there is nothing to report on (inputs, configuration) */
export type Engine = (run: EngineRun) => Promise<{ readonly report: GateReport }>;

/** The step of this process, from its inputs to its exit status: check the inputs, measure, publish. Never returns. */
export async function runGateStep(engine: Engine): Promise<never> {
  // The runner may close our output before us; that is not a reason to end with a stack trace.
  process.stdout.on("error", () => {});
  const { env } = process;
  const inputs = readInputs(env);
  if (inputs.token !== undefined) setSecret(inputs.token);
  let code: number;
  try {
    const settings = publishSettings(inputs);
    const bundleDir = freeBundleDirectory(env, settings.artifactName);
    // The runner kills this process soon after.
    const signal = watchInterruption(settings.timeoutMs, (error) => giveUp(env, error, bundleDir));
    code = await measureAndPublish(engine, inputs, { env, settings, bundleDir, signal });
  } catch (cause) {
    const error = asGateError(cause);
    annotateError(env, error);
    setErrorOutputs(error, nothingPublished(""));
    code = error.exitCode;
  }
  // An upload that missed its deadline may still be open; the process does not wait for it.
  process.exit(code);
}

/** End a step that does not end by itself. Handlers of the exit resume workflow commands first. */
function giveUp(env: Environment, error: GateError, bundleDir: string): never {
  process.once("exit", () => {
    annotateError(env, error);
    setErrorOutputs(error, nothingPublished(bundleDir));
  });
  process.exit(error.exitCode);
}

async function measureAndPublish(engine: Engine, inputs: ActionInputs, step: GateStep): Promise<number> {
  const { env, bundleDir, signal } = step;
  const warn = (message: string): void => warning(message, { title });
  if (inspectableWarning !== null) log(inspectableWarning);
  let report: GateReport;
  try {
    ({ report } = await withStopCommands(`${title}: measuring`, { env, signal, warn }, (ports) =>
      engine({ inputs, env, bundleDir, signal, ports }),
    ));
  } catch (cause) {
    const error = asGateError(signal.aborted ? signal.reason : cause);
    // Before publishing, which may not end in the time that a cancelled step has.
    annotateError(env, error);
    const { published, warnings } = await publishReport(step, errorReport(error, inputs.scenario));
    for (const message of warnings) warn(message);
    setErrorOutputs(error, published);
    return error.exitCode;
  }
  return reportOutcome(step, report);
}

/** Publish the report, then annotate the run, set the outputs and decide the exit status. */
async function reportOutcome(step: GateStep, report: GateReport): Promise<number> {
  const { published, warnings } = await publishReport(step, report);
  // The engine reports an interruption as such; only the step knows that it was its own timeout.
  const stopped = step.signal.aborted ? asGateError(step.signal.reason) : null;
  const exitCode = stopped === null ? report.exit_code : stoppedExitCode(stopped, report.exit_code);
  if (stopped !== null) annotateError(step.env, stopped);
  const shown = { ...report, scenarios: stopped === null ? report.scenarios : [] };
  // Of the notes on a scenario's runs only those that explain its verdict stand beside the run, with that verdict.
  const exposed = report.isolation === undefined ? null : exposureWarning(report.isolation);
  const own = report.warnings.filter(
    (note) =>
      // Green stays silent about the machine, and so does a token that did not write; the note is in log and report.
      (note !== exposed || (report.verdict !== "pass" && published.commentUrl !== null)) &&
      (/\bacceptance\b/.test(note) || !isOnRuns(note, report)),
  );
  for (const annotation of annotationsOf({ ...shown, warnings: [...own, ...warnings] }, report.warnings)) {
    const { level, title, message, place } = annotation;
    const show = level === "error" ? showError : warning;
    show(message, { title, ...(place === undefined ? {} : { file: place.file, startLine: place.line }) });
  }
  setOutputs({ ...outputsOf(report, published), "exit-code": String(exitCode) });
  const { runs, minutes } = report.cost;
  log(`${title}: ${report.verdict} (${plural(runs, "run")}, ${minutes.toFixed(1)} min)`);
  return stepExitCode(exitCode, step.settings.verdictFails);
}

/** Whether a note is about the runs of one scenario. */
function isOnRuns(note: string, { scenarios }: GateReport): boolean {
  return scenarios.some(({ scenario }) => note.startsWith(`${scenario}: `));
}

/** A breach that was found before the time was over remains one; otherwise the interruption decides. */
function stoppedExitCode(stopped: GateError, reported: number): number {
  return stopped.code === "STEP_TIMEOUT" && reported === ExitCode.gateFailed ? reported : stopped.exitCode;
}

function annotateError(env: Environment, error: GateError): void {
  const where = error.where === undefined || error.message.includes(error.where) ? "" : ` (${error.where})`;
  const hint = error.hint === undefined ? "" : ` ${error.hint}`;
  showError(`${error.message}${where}.${hint}`, { title: `${title}: ${error.code}` });
  const stack = error.cause instanceof Error ? error.cause.stack : error.stack;
  if (env.RUNNER_DEBUG === "1" && stack) {
    // The runner takes an indented `::error::` for a command too, and a message may contain untrusted text.
    process.stdout.write(`${escapeTerminal(stack).replace(/^/gm, "| ")}\n`);
  }
}

function setOutputs(outputs: Outputs): void {
  for (const [name, value] of Object.entries(outputs)) setOutput(name, value);
}

function setErrorOutputs(error: GateError, published: Published): void {
  try {
    setOutputs(errorOutputs(error.exitCode, published));
  } catch {
    // The file was taken away, the disk is full or a limit was lowered. The error was annotated, and the step fails.
  }
}
