import type { ProbeMode } from "../config/gate-request.ts";
import { assertNever } from "../core/errors.ts";
import { formatDuration } from "../core/units.ts";
import type { OutOfMemory } from "../telemetry/oom/out-of-memory.ts";
import type { ExitState, RecordingInfo } from "../telemetry/recording/model.ts";

/** How a run ended, as the gate sees it: only `ok` is judged on peak and growth. */
export type RunEnding =
  | { readonly kind: "ok" }
  | { readonly kind: "failed"; readonly code: string; readonly message: string; readonly hint: string | null }
  | { readonly kind: "interrupted"; readonly signal: string };

const OUTPUT_HINT = "What it printed is in output.log of the run's directory.";

const OOM_HINT =
  "What is known of the failing request, and the last seconds before it, are in oom/ of the run's directory.";

/** "exited with status 1", "was ended by SIGKILL"; null for an ending that running out of memory is no reason for. */
function deathOf(exit: ExitState): string | null {
  if (exit.kind === "exited") return exit.code === 0 ? null : `exited with status ${exit.code}`;
  return exit.kind === "signaled" ? `was ended by ${exit.signal}` : null;
}

/**
 * Translate the state of the measured command into an ending with a stable code and a message.
 * @param oom what is known of memory having run out
 */
export function runEnding(exit: ExitState, oom?: OutOfMemory): RunEnding {
  const death = oom?.certainty === "established" ? deathOf(exit) : null;
  if (death !== null) {
    return {
      kind: "failed",
      code: "COMMAND_OUT_OF_MEMORY",
      message: `the command ran out of memory and ${death}`,
      hint: OOM_HINT,
    };
  }
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
          exit.signal === "SIGKILL" ? `${OUTPUT_HINT} Nothing shows that the kernel ran out of memory.` : OUTPUT_HINT,
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

/** A run that had to be looked at from inside and was not has failed, however well the command went. */
export function probedEnding(ending: RunEnding, mode: ProbeMode, info: RecordingInfo): RunEnding {
  if (mode !== "require" || ending.kind !== "ok") return ending;
  const probe = info.sources.find(({ name }) => name === "probe");
  if (probe?.available === true) return ending;
  return {
    kind: "failed",
    code: "PROBE_NOT_ATTACHED",
    message: `--probe require: no process was looked at from inside (${probe?.reason ?? "the run did not get that far"})`,
    hint: "With --probe auto the run is judged by what is seen from outside.",
  };
}
