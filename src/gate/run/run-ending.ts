import type { ProbeMode } from "../../config/gate-request.ts";
import { assertNever } from "../../core/errors.ts";
import { oneLine } from "../../core/text.ts";
import { formatDuration } from "../../core/units.ts";
import type { ExitState, RecordingInfo } from "../../telemetry/recording/model.ts";
import type { OutOfMemory } from "../../telemetry/recording/out-of-memory.ts";

/** How a run ended, as the gate sees it: only `ok` is judged on peak and growth. */
export type RunEnding =
  | { readonly kind: "ok" }
  | { readonly kind: "failed"; readonly code: string; readonly message: string; readonly hint: string | null }
  | { readonly kind: "interrupted"; readonly signal: string };

const OUTPUT_HINT = "Its output is in output.log of the run's directory.";

type FailedEnding = Extract<RunEnding, { kind: "failed" }>;

/** A failed run; names in the message may have line breaks. */
export const failure = (code: string, message: string, hint: string | null): FailedEnding => ({
  kind: "failed",
  code,
  message: oneLine(message),
  hint,
});

/** "exited with status 1", "was ended by SIGKILL"; null for an ending that running out of memory cannot cause. */
function deathOf(exit: ExitState): string | null {
  if (exit.kind === "exited") return exit.code === 0 ? null : `exited with status ${exit.code}`;
  return exit.kind === "signaled" ? `was ended by ${exit.signal}` : null;
}

/** What to do about a command that was not found: one word with spaces was quoted as a whole. */
function notFoundHint(command: RecordingInfo["command"] | undefined): string {
  const { argv = [], shell = false } = command ?? {};
  return !shell && argv.length === 1 && /\s/.test(argv[0]?.trim() ?? "")
    ? "Leave out the quotes around the whole command: after `--` each argument is a word of its own."
    : "Check the spelling, or give the full path.";
}

/** The ending of the measured command, with a stable code and message. @param oom evidence of running out of memory */
export function runEnding(exit: ExitState, oom?: OutOfMemory, command?: RecordingInfo["command"]): RunEnding {
  const death = oom?.certainty === "established" ? deathOf(exit) : null;
  if (death !== null) {
    return failure(
      "COMMAND_OUT_OF_MEMORY",
      `the command ran out of memory and ${death}`,
      "Evidence of the failed allocation and of the last seconds before it is in oom/ of the run's directory.",
    );
  }
  switch (exit.kind) {
    case "exited":
      return exit.code === 0
        ? { kind: "ok" }
        : failure("COMMAND_FAILED", `the command exited with status ${exit.code}`, OUTPUT_HINT);
    case "signaled":
      return failure(
        "COMMAND_KILLED",
        `the command was ended by ${exit.signal}`,
        exit.signal === "SIGKILL" ? `${OUTPUT_HINT} Nothing shows that the kernel ran out of memory.` : OUTPUT_HINT,
      );
    case "timeout":
      return failure(
        "COMMAND_TIMEOUT",
        `the command did not end within ${formatDuration(exit.after_s)}`,
        "Raise --timeout, or make the scenario shorter.",
      );
    case "interrupted":
      return { kind: "interrupted", signal: exit.signal };
    case "not-started":
      return failure(exit.code, exit.message, exit.code === "COMMAND_NOT_FOUND" ? notFoundHint(command) : null);
    case "stopped":
      return { kind: "ok" };
    case "running":
      return failure("COMMAND_LOST", "the end of the command was not observed", null);
    default:
      return assertNever(exit);
  }
}

/** What programs print that fail behind walls of these kinds, and why they do. */
const WALL_LIMITS = [
  [/Read-only file system|\bEROFS\b/i, ["user", "sudo"], "`.git` and files of the gate and the runner are read-only"],
  [/no new privileges/i, ["user", "sudo", "root"], "no program gains rights"],
  [/missing cap_net_raw/i, ["user", "sudo"], "no program gains rights"],
  [/\bpivot_root\b/i, ["user", "sudo"], "no program gets another root directory"],
  [/^Bad owner or permissions on/m, ["user"], "other users' files have no known owner, which ssh refuses"],
] as const;

/** A failed run whose output shows that the wall was in its way says so. @param tail the end of its output */
export function walledEnding(ending: RunEnding, info: RecordingInfo, tail: () => string | null): RunEnding {
  const { isolation = "off" } = info.fingerprint;
  if (ending.kind !== "failed" || isolation === "off") return ending;
  const text = tail() ?? "";
  const found = WALL_LIMITS.find(([message, kinds]) => kinds.some((one) => one === isolation) && message.test(text));
  if (found === undefined) return ending;
  return { ...ending, hint: `It ran in namespaces of its own, where ${found[2]}: \`isolation: off\` runs it without.` };
}

/** A service runs until it is stopped, and is judged where its load was run to its end. */
export function servedEnding(ending: RunEnding, { service, exit }: RecordingInfo): RunEnding {
  if (service === undefined) return ending;
  if (ending.kind === "ok" && exit.kind === "exited") {
    const when = service.rests.length === 0 ? "before its first cycle was over" : "under load";
    return failure("SERVICE_ENDED", `the service exited with status 0 ${when}`, OUTPUT_HINT);
  }
  if (ending.kind !== "ok" || service.problem === undefined) return ending;
  return failure(service.problem.code, service.problem.message, service.problem.hint);
}

/** A run that requires the probe fails without it, even when the command succeeded. */
export function probedEnding(ending: RunEnding, mode: ProbeMode, info: RecordingInfo): RunEnding {
  if (mode !== "require" || ending.kind !== "ok") return ending;
  const probe = info.sources.find(({ name }) => name === "probe");
  if (probe?.available === true) return ending;
  return failure(
    "PROBE_NOT_ATTACHED",
    `--probe require: the probe attached to no process (${probe?.reason ?? "the run ended too early"})`,
    "With --probe auto the run is judged by measurements from outside.",
  );
}
