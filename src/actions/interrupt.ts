import { GateError } from "../core/errors.ts";

/** From the first SIGINT the runner waits 7.5 s before SIGTERM and 2.5 s more before it kills: be gone before. */
export const EXIT_AFTER_INTERRUPT_MS = 8000;
/** A step that is over its time has its verdict to publish, beside its evidence. */
export const EXIT_AFTER_TIMEOUT_MS = 15_000;

/**
 * Turn SIGINT, SIGTERM and the step's timeout into one abort signal. The step has some seconds more for its evidence.
 * @param onHopeless called when the step has not ended some seconds later, with the signal's reason
 * @returns fires once, with a GateError as its reason: INTERRUPTED (exit 130) or STEP_TIMEOUT (exit 1)
 */
export function watchInterruption(
  timeoutMs: number,
  onHopeless: (reason: GateError) => void,
  source: NodeJS.EventEmitter = process,
): AbortSignal {
  const controller = new AbortController();
  const stop = (error: GateError, exitAfterMs: number): void => {
    setTimeout(() => onHopeless(controller.signal.reason), exitAfterMs).unref();
    if (!controller.signal.aborted) controller.abort(error);
  };
  let signalled = false;
  const onSignal = (name: string): void => {
    if (signalled) return;
    signalled = true;
    const error = new GateError("INTERRUPTED", `the step was cancelled (${name})`, {
      kind: "interrupted",
      hint: "What was measured until then is in the bundle.",
    });
    stop(error, EXIT_AFTER_INTERRUPT_MS);
  };
  for (const name of ["SIGINT", "SIGTERM"]) source.on(name, () => onSignal(name));
  // setTimeout holds 31 bits of milliseconds; a longer limit has no effect within a job.
  setTimeout(
    () => {
      const error = new GateError("STEP_TIMEOUT", `the gate took longer than timeout-minutes (${timeoutMs / 60_000})`, {
        hint: "Raise timeout-minutes, or give max-runs or max-minutes.",
      });
      stop(error, EXIT_AFTER_TIMEOUT_MS);
    },
    Math.min(timeoutMs, 2 ** 31 - 1),
  ).unref();
  return controller.signal;
}
