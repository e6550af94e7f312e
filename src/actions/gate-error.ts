import { GateError, limitReached, messageOf } from "../core/errors.ts";
import { ExitCode } from "../core/exit-codes.ts";

export function asGateError(error: unknown): GateError {
  if (error instanceof GateError) return error;
  const hint = "This is a bug in Stormlog Gate. Re-run the job with debug logging for a stack trace.";
  return limitReached(error) ?? new GateError("INTERNAL", messageOf(error), { hint, cause: error });
}

/** Exit status of a step. `fail-on: never` exempts only the verdict, not a run that failed or was interrupted. */
export function stepExitCode(exitCode: number, verdictFails: boolean): number {
  const isExempt = exitCode === ExitCode.gateFailed || exitCode === ExitCode.unjudged;
  return exitCode === ExitCode.findings || (isExempt && !verdictFails) ? ExitCode.pass : exitCode;
}
