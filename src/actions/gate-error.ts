import { GateError, messageOf } from "../core/errors.ts";

export function asGateError(error: unknown): GateError {
  if (error instanceof GateError) return error;
  return new GateError("INTERNAL", messageOf(error), {
    kind: "error",
    hint: "This is a bug in Stormlog Gate. Re-run the job with debug logging for a stack trace.",
    cause: error,
  });
}
