import { assertNever } from "../core/errors.ts";
import { formatDuration } from "../core/units.ts";
import type { ExitState } from "../telemetry/model.ts";

/** How a run ended, as the gate sees it: only `ok` is judged on peak and growth. */
export type RunEnding =
  | { readonly kind: "ok" }
  | { readonly kind: "failed"; readonly code: string; readonly message: string; readonly hint: string | null }
  | { readonly kind: "interrupted"; readonly signal: string };

const OUTPUT_HINT = "What it printed is in output.log of the run's directory.";

/** Translate the state of the measured command into an ending with a stable code and a message. */
export function runEnding(exit: ExitState): RunEnding {
  switch (exit.kind) {
    case "exited":
      return exit.code === 0
        ? { kind: "ok" }
        : {
            kind: "failed",
            code: "COMMAND_FAILED",
            message: `the command exited with status ${exit.code}`,
            hint: OUTPUT_HINT,
          };
    case "signaled":
      return {
        kind: "failed",
        code: "COMMAND_KILLED",
        message: `the command was ended by ${exit.signal}`,
        hint:
          exit.signal === "SIGKILL" ? `${OUTPUT_HINT} SIGKILL often means the kernel ran out of memory.` : OUTPUT_HINT,
      };
    case "timeout":
      return {
        kind: "failed",
        code: "COMMAND_TIMEOUT",
        message: `the command did not end within ${formatDuration(exit.after_s)}`,
        hint: "Raise --timeout, or make the scenario shorter.",
      };
    case "interrupted":
      return { kind: "interrupted", signal: exit.signal };
    case "not-started":
      return {
        kind: "failed",
        code: exit.code,
        message: exit.message,
        hint: exit.code === "COMMAND_NOT_FOUND" ? "Check the spelling, or give the full path." : null,
      };
    case "running":
      return { kind: "failed", code: "COMMAND_LOST", message: "the command's end was not seen", hint: null };
    default:
      return assertNever(exit);
  }
}
