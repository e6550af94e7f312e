import { gateRequestFromInputs } from "../../config/from-action-inputs.ts";
import { GateError } from "../../core/errors.ts";
import { runGate } from "../../gate/run-gate.ts";
import type { Engine } from "./engine.ts";

/** The engine names an interruption by its signal. */
function withSignalName(interrupt: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const pass = (): void => {
    const { reason } = interrupt;
    controller.abort(reason instanceof GateError && reason.code === "STEP_TIMEOUT" ? "timeout-minutes" : "SIGINT");
  };
  if (interrupt.aborted) pass();
  else interrupt.addEventListener("abort", pass, { once: true });
  return controller.signal;
}

/** The same engine as the command line's `run`, with the bundle where the post step will look for it. */
export const gateEngine: Engine = async (inputs, io) =>
  runGate(
    { ...gateRequestFromInputs({ ...inputs }, io.env), bundle: io.bundleDir },
    {
      log: io.log,
      stdout: io.stdout,
      stderr: io.stderr,
      progress: null,
      interrupt: withSignalName(io.interrupt),
      now: () => new Date(),
    },
  );
