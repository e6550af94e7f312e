import { assertNever } from "../../core/errors.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import type { CheckVerdict } from "../../verdict/model/judgement.ts";

/** Exit status of a command that answers with a verdict, with `--exit-code`. */
export function answerExit(verdict: CheckVerdict, unjudged: "fail" | "warn" | "pass"): ExitCode {
  switch (verdict) {
    case "pass":
      return ExitCode.pass;
    case "warn":
      return ExitCode.findings;
    case "fail":
      return ExitCode.gateFailed;
    case "unjudged":
      return unjudged === "fail" ? ExitCode.unjudged : ExitCode.pass;
    default:
      return assertNever(verdict);
  }
}
