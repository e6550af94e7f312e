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

const OUTPUT_HINT = "Its output is in output.log of the run's directory.";

const OOM_HINT =
  "Evidence of the failed allocation and of the last seconds before it is in oom/ of the run's directory.";

/** "exited with status 1", "was ended by SIGKILL"; null for an ending that running out of memory cannot cause. */
function deathOf(exit: ExitState): string | null {
  if (exit.kind === "exited") return exit.code === 0 ? null : `exited with status ${exit.code}`;
  return exit.kind === "signaled" ? `was ended by ${exit.signal}` : null;
}

/** The ending of the measured command, with a stable code and message. @param oom evidence of running out of memory */
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
      return { kind: "failed", code: "COMMAND_LOST", message: "the end of the command was not observed", hint: null };
    default:
      return assertNever(exit);
  }
}

/** A run that requires the probe fails without it, even when the command succeeded. */
export function probedEnding(ending: RunEnding, mode: ProbeMode, info: RecordingInfo): RunEnding {
  if (mode !== "require" || ending.kind !== "ok") return ending;
  const probe = info.sources.find(({ name }) => name === "probe");
  if (probe?.available === true) return ending;
  return {
    kind: "failed",
    code: "PROBE_NOT_ATTACHED",
    message: `--probe require: the probe attached to no process (${probe?.reason ?? "the run ended too early"})`,
    hint: "With --probe auto the run is judged by measurements from outside.",
  };
}
