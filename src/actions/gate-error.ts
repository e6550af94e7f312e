import { GateError, messageOf } from "../core/errors.ts";
import { limitsError } from "../core/process/own-limits.ts";

export function asGateError(error: unknown): GateError {
  if (error instanceof GateError) return error;
  const hint = "This is a bug in Stormlog Gate. Re-run the job with debug logging for a stack trace.";
  return limitsError(error) ?? new GateError("INTERNAL", messageOf(error), { hint, cause: error });
}
