import { GateError } from "../core/errors.ts";

/** From the first SIGINT the runner waits 7.5 s before SIGTERM and 2.5 s more before it kills: be gone before. */
export const EXIT_AFTER_INTERRUPT_MS = 6500;

export interface Interruption {
  /** Fires once, with a GateError as its reason: INTERRUPTED (exit 130) or STEP_TIMEOUT (exit 1). */
  readonly signal: AbortSignal;
  /** Forget the signals and the timeout; a late SIGINT then ends the process as usual. */
  dispose(): void;
}

/** Turn SIGINT, SIGTERM and the step's timeout into one abort signal. The post step uploads what is on disk. */
export function watchInterruption(
  timeoutMs: number,
  onHopeless: () => void,
  source: NodeJS.EventEmitter = process,
): Interruption {
  const controller = new AbortController();
  let hopeless: NodeJS.Timeout | undefined;
  const stop = (error: GateError): void => {
    if (!controller.signal.aborted) controller.abort(error);
  };
  const onSignal = (name: string): void => {
    hopeless ??= setTimeout(onHopeless, EXIT_AFTER_INTERRUPT_MS).unref();
    stop(
      new GateError("INTERRUPTED", `the step was cancelled (${name})`, {
        kind: "interrupted",
        hint: "What was measured until then is in the bundle.",
      }),
    );
  };
  const onInt = (): void => onSignal("SIGINT");
  const onTerm = (): void => onSignal("SIGTERM");
  source.on("SIGINT", onInt);
  source.on("SIGTERM", onTerm);
  // setTimeout holds 31 bits of milliseconds; a longer limit has no effect within a job.
  const timer = setTimeout(
    () => {
      stop(
        new GateError("STEP_TIMEOUT", `the gate took longer than timeout-minutes (${timeoutMs / 60_000})`, {
          kind: "error",
          hint: "Raise timeout-minutes, or give max-runs or max-minutes.",
        }),
      );
    },
    Math.min(timeoutMs, 2 ** 31 - 1),
  ).unref();
  return {
    signal: controller.signal,
    dispose() {
      clearTimeout(timer);
      clearTimeout(hopeless);
      source.off("SIGINT", onInt);
      source.off("SIGTERM", onTerm);
    },
  };
}
