import "./closed-process.ts";

import { setOutput, setSecret, error as showError, warning } from "@actions/core";
import { usageError } from "../core/errors.ts";
import type { Environment } from "../core/process/environment.ts";
import { connect, loadClient, type Octokit } from "../github/api/octokit.ts";
import { type KnownRun, runContext } from "../github/api/run-context.ts";
import { asGateError } from "./gate-error.ts";
import { timeoutInput } from "./input-values.ts";
import { watchInterruption } from "./interrupt.ts";
import { log } from "./log.ts";

/** What a sub-action (report, merge, refresh, accept) works with. */
export interface SubAction {
  /** An input as the workflow gave it, trimmed; an empty one is absent. */
  readonly input: (name: string) => string | undefined;
  readonly env: Environment;
  readonly context: KnownRun;
  readonly octokit: Octokit;
  /** Fires when the step is cancelled or `timeout-minutes` are over; its reason is a GateError. */
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
  /** One readable annotation; never decides the step's result. */
  readonly warn: (message: string) => void;
  readonly setOutput: (name: string, value: string) => void;
}

/** Maximum wait that GitHub may ask for, seconds; a sub-action has nothing else to do. */
const MAX_WAIT_S = 60;
const DEFAULT_TIMEOUT_MINUTES = 15;

function inputReader(env: Environment): SubAction["input"] {
  return (name) => {
    const text = env[`INPUT_${name.toUpperCase()}`]?.trim();
    return text === "" ? undefined : text;
  };
}

function knownRun(env: Environment): KnownRun {
  const context = runContext(env);
  const { owner, repo } = context;
  if (owner === null || repo === null) {
    throw usageError(
      "NO_REPOSITORY",
      "GITHUB_REPOSITORY is not set to a repository",
      "Run this as a step of a workflow.",
    );
  }
  return { ...context, owner, repo };
}

/** Run a sub-action: inputs, signals and errors around its work, which returns the exit status. Never returns. */
export async function runSubAction(title: string, work: (action: SubAction) => Promise<number>): Promise<never> {
  process.stdout.on("error", () => {});
  const { env } = process;
  const input = inputReader(env);
  let code: number;
  try {
    const token = input("token");
    if (token === undefined) throw usageError("NO_TOKEN", "the token is missing", "Give the input token.");
    setSecret(token);
    const context = knownRun(env);
    const signal = watchInterruption(timeoutInput(input, DEFAULT_TIMEOUT_MINUTES), ({ exitCode }) =>
      process.exit(exitCode),
    );
    const octokit = connect(await loadClient(), { token, context, signal, maxWaitS: MAX_WAIT_S, log });
    code = await work({
      input,
      env,
      context,
      octokit,
      signal,
      log,
      warn: (message) => warning(message, { title }),
      setOutput,
    });
  } catch (cause) {
    const error = asGateError(cause);
    const hint = error.hint === undefined ? "" : ` ${error.hint}`;
    showError(`${error.code}: ${error.message}.${hint}`, { title });
    code = error.exitCode;
  }
  process.exit(code);
}
