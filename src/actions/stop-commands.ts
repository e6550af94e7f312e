import { endGroup, startGroup } from "@actions/core";
import { GateError, messageOf } from "../core/errors.ts";
import type { Environment } from "../core/process/environment.ts";
import type { GatePorts } from "../gate/ports/ports.ts";
import { OUT_OF_TIME } from "../gate/scenario/cost.ts";
import { holdOwnFiles } from "./code/held-files.ts";
import { raiseCommandFence } from "./command-fence.ts";
import { disableCompileCache, guardFileCommands } from "./file-commands.ts";

/** The gate names an interruption by its signal, or as the end of the step's own time. */
function gateInterrupt(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const pass = (): void => {
    const { reason } = signal;
    controller.abort(reason instanceof GateError && reason.code === "STEP_TIMEOUT" ? OUT_OF_TIME : "SIGINT");
  };
  if (signal.aborted) pass();
  else signal.addEventListener("abort", pass, { once: true });
  return controller.signal;
}

export interface FencedStep {
  readonly env: Environment;
  /** Fires with a GateError as its reason. */
  readonly signal: AbortSignal;
  readonly warn: (message: string) => void;
}

/**
 * Measure behind the fence: nothing that the measured command prints or writes acts as this step.
 * @throws what `work` throws, GateError FILE_COMMANDS_CHANGED
 */
export async function withStopCommands<T>(
  title: string,
  { env, signal, warn }: FencedStep,
  work: (ports: GatePorts) => Promise<T>,
): Promise<T> {
  const restoreOwnFiles = holdOwnFiles(env, warn);
  startGroup(title);
  const fence = raiseCommandFence((chunk) => process.stdout.write(chunk));
  disableCompileCache(env);
  const files = guardFileCommands(env);
  // The process may end before the work does, when the gate does not stop.
  const onExit = (): void => {
    fence.close();
    try {
      files.restore();
    } catch (error) {
      // The other handlers of the exit have to run.
      warn(messageOf(error));
    }
  };
  process.once("exit", onExit);
  try {
    return await work({
      log: (line) => fence.write(`${line}\n`),
      stdout: (chunk) => fence.write(chunk),
      stderr: (chunk) => fence.write(chunk),
      progress: null,
      interrupt: gateInterrupt(signal),
      now: () => new Date(),
    });
  } finally {
    process.off("exit", onExit);
    fence.close();
    endGroup();
    for (const message of [restoreOwnFiles(), files.restore()]) {
      if (message !== null) warn(message);
    }
  }
}
