import { GateError } from "../core/errors.ts";
import { OUT_OF_TIME } from "../gate/cost.ts";

/** The engine names an interruption by its signal, or as the end of the step's own time. */
export function engineInterrupt(interrupt: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const pass = (): void => {
    const { reason } = interrupt;
    controller.abort(reason instanceof GateError && reason.code === "STEP_TIMEOUT" ? OUT_OF_TIME : "SIGINT");
  };
  if (interrupt.aborted) pass();
  else interrupt.addEventListener("abort", pass, { once: true });
  return controller.signal;
}
