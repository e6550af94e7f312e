import { GateError } from "../../core/errors.ts";
import { limitsError } from "../../core/process/own-limits.ts";
import type { SamplerStats } from "../../sampler/sampler.ts";
import { RAW_RECORD_FILE } from "../../telemetry/recording/run-files.ts";

/** Why a run's samples are not those of the whole run, unless the machine was busy; else null. */
export function samplingError({ writeError, missedTicks }: SamplerStats, stopped: boolean): GateError | null {
  const limits = limitsError();
  if (limits !== null) return limits;
  if (writeError !== null) {
    return new GateError(
      "RECORD_FILE_INCOMPLETE",
      `${RAW_RECORD_FILE} could not be written to its end (${writeError})`,
      {
        kind: "error",
        hint: "Free space, or raise the limit on the size of files (ulimit -f). The measured command must not take either.",
      },
    );
  }
  if (!stopped || missedTicks === 0) return null;
  return new GateError("GATE_STOPPED", `the gate was stopped during the run and missed ${missedTicks} samples`, {
    kind: "error",
    hint: "Run again without suspending the gate (SIGSTOP, Ctrl-Z). The measured command must not send it signals.",
  });
}
