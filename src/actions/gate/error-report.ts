import type { GateError } from "../../core/errors.ts";
import { packageVersion } from "../../core/package-root.ts";
import type { GateReport } from "../../report/documents/model.ts";

/** A gate that could not start, as a report: it is told where its verdict would stand, and no leg of a matrix is missing for it. */
export function errorReport(error: GateError, scenario: string | undefined, now: Date): GateReport {
  const { code, message, hint, exitCode } = error;
  return {
    tool: { name: "stormlog-gate", version: packageVersion(), argv: [] },
    generated_at_utc: now.toISOString(),
    word: "error",
    exit_code: exitCode,
    confirmed: false,
    session: "",
    commit: null,
    scenarios: [
      {
        kind: "missing",
        scenario: scenario ?? "",
        word: "error",
        judgement: null,
        error: { code, message, hint: hint ?? null },
        runs: [],
        baseline: null,
        fingerprint: {},
        findings: [],
        timeline: null,
      },
    ],
    cost: { runs: 0, minutes: 0 },
    warnings: [],
  };
}
