import { type GateError, invalidInput } from "../../../core/errors.ts";

/** Reason for the rejection of a telemetry record, in the words of Stormlog's own loader. */
export class RecordProblem extends Error {
  readonly code: "INPUT_SCHEMA_VERSION" | "NEGATIVE_BYTES" | "TELEMETRY_INVALID";

  constructor(message: string, code: RecordProblem["code"] = "TELEMETRY_INVALID") {
    super(message);
    this.code = code;
  }
}

const HINTS = {
  INPUT_SCHEMA_VERSION: "Supported: telemetry versions 2, 3 and 4, and records without a version.",
  NEGATIVE_BYTES: "A byte counter is 0 or more, or null where the schema allows it.",
  TELEMETRY_INVALID: "Export the events again, or correct the record.",
} as const;

/** The problem as an invalid-input error that names file and record. */
export function atRecord(problem: RecordProblem, name: string, record: string): GateError {
  return invalidInput(problem.code, problem.message, `${name}: ${record}`, HINTS[problem.code]);
}
