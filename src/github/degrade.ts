import { escapeTerminal } from "../core/escape.ts";
import { DeadlineError } from "./deadline.ts";

/** What was being done, for the warning: its name and the permission it needs. */
export interface Attempt {
  /** "post the comment" */
  readonly what: string;
  /** `pull-requests: write`; null when no permission is involved. */
  readonly permission: string | null;
  /** What the reader still has, one sentence. */
  readonly instead: string;
}

const MAX_DETAIL = 300;

function statusOf(error: unknown): number | null {
  if (typeof error !== "object" || error === null || !("status" in error)) return null;
  return typeof error.status === "number" ? error.status : null;
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  const line = escapeTerminal(`${text}${cause}`.replace(/\s+/g, " ").trim());
  return line.length > MAX_DETAIL ? `${line.slice(0, MAX_DETAIL)}…` : line;
}

function reason(error: unknown, permission: string | null): string {
  if (error instanceof DeadlineError) return `GitHub gave ${error.message}`;
  const status = statusOf(error);
  const grant = permission === null ? "" : ` The job needs \`permissions: ${permission}\``;
  switch (status) {
    case 401:
      return "the token was refused (401): it is missing, wrong or expired.";
    case 403:
      if (/rate limit|abuse/i.test(messageOf(error))) return "GitHub's rate limit was reached (403).";
      return `the token may not do that (403).${grant}${grant ? ", which a pull request from a fork never has." : ""}`;
    case 404:
      return `GitHub cannot find it with this token (404).${grant}${grant ? ", if it exists." : ""}`;
    case 422:
      return `GitHub refused the content (422): ${messageOf(error)}`;
    case 429:
      return "GitHub's rate limit was reached (429).";
    default:
      // Octokit gives connection failures the status 500; only a real answer carries a response.
      if (status !== null && status >= 500 && typeof error === "object" && error !== null && "response" in error) {
        if (error.response !== undefined) return `GitHub failed (${status}).`;
      }
      return messageOf(error);
  }
}

/**
 * One readable line for a failure that does not touch the verdict: what could not be done, why, and what there is
 * instead. Never throws, whatever was thrown.
 */
export function degradedWarning(attempt: Attempt, error: unknown): string {
  const why = reason(error, attempt.permission);
  return `Could not ${attempt.what}: ${why}${/[.!?…]$/.test(why) ? "" : "."} ${attempt.instead}`;
}
