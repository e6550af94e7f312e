import { randomBytes } from "node:crypto";
import { usageError } from "../core/errors.ts";

/** 128 random bits as hexadecimal digits. */
export function randomId(): string {
  return randomBytes(16).toString("hex");
}

/**
 * Name of the session: runs that share a job on one machine. `STORMLOG_GATE_SESSION` decides where several invocations are
 * one session; in a workflow it is the job's run, attempt and name (with the runner's tracking id, since matrix legs share
 * the rest); elsewhere each invocation is its own.
 * @throws GateError SESSION_INVALID (usage) when the variable holds blanks, control characters or more than 200 characters
 */
export function sessionId(env: Readonly<Record<string, string | undefined>>): string {
  const named = env.STORMLOG_GATE_SESSION;
  if (named !== undefined && named !== "") {
    if (!/^[\x21-\x7e]{1,200}$/.test(named)) {
      throw usageError(
        "SESSION_INVALID",
        "STORMLOG_GATE_SESSION is not a usable name",
        "Use 1 to 200 printable ASCII characters without blanks.",
      );
    }
    return named;
  }
  const { GITHUB_RUN_ID, GITHUB_RUN_ATTEMPT, GITHUB_JOB, RUNNER_TRACKING_ID } = env;
  if (GITHUB_RUN_ID === undefined || GITHUB_RUN_ID === "") return randomId();
  return ["github", GITHUB_RUN_ID, GITHUB_RUN_ATTEMPT ?? "1", GITHUB_JOB ?? "job", RUNNER_TRACKING_ID]
    .filter((part) => part !== undefined && part !== "")
    .join("-");
}
