import { GateError, messageOf } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { cutText } from "../../core/text.ts";
import { DeadlineError } from "./deadline.ts";

/** What an error of the client reveals about GitHub's answer. */
export interface ApiFailure {
  /** HTTP status; null when there was no answer at all. */
  readonly status: number | null;
  /** One line. Text from outside: escaped where it is printed. */
  readonly message: string;
}

/** Read an error of the client. A failed connection also has the status 500; only a real answer carries a response. */
export function apiFailure(error: unknown): ApiFailure {
  const message = messageOf(error).replace(/\s+/g, " ").trim();
  return { status: wasAnswered(error) ? statusOf(error) : null, message };
}

export function isStatus(error: unknown, ...statuses: readonly number[]): boolean {
  const { status } = apiFailure(error);
  return status !== null && statuses.includes(status);
}

/** The answer to a request; null where GitHub has no such thing (404). @throws what the client throws */
export async function unlessMissing<T>(request: Promise<T>): Promise<T | null> {
  return request.catch((error: unknown) => {
    if (isStatus(error, 404)) return null;
    throw error;
  });
}

/** Whether the request may have been carried out although no answer confirms it. */
export function isAmbiguous(error: unknown): boolean {
  const { status } = apiFailure(error);
  return status === null || status >= 500;
}

/** What was being done, for the warning: its name and the permission it needs. */
export interface Attempt {
  /** "post the comment" */
  readonly what: string;
  /** `pull-requests: write`; null when no permission is involved. */
  readonly permission: string | null;
  /** What the reader still has, one sentence. */
  readonly instead: string;
}

function statusOf(error: unknown): number | null {
  if (typeof error !== "object" || error === null || !("status" in error)) return null;
  return typeof error.status === "number" ? error.status : null;
}

/** Outside text on one line of a log or warning. */
export function bounded(text: string): string {
  return cutText(escapeTerminal(text.replace(/\s+/g, " ").trim()), 300);
}

/** Anything can be thrown, also what cannot be made a text. */
function thrownText(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return `something of type ${typeof thrown} was thrown`;
  }
}

function describeThrown(error: unknown): string {
  const text = error instanceof Error ? error.message : thrownText(error);
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
  // The words of fetch itself carry no information, and come before or behind the reason.
  const parts = [text, cause].filter((part) => part !== "" && part !== "fetch failed" && part !== "terminated");
  return bounded([...new Set(parts)].join(": ") || text);
}

/** GitHub's own message, without the link to its documentation that the client appends. */
function gitHubMessage(error: unknown): string {
  return describeThrown(error).replace(/ - https?:\/\/\S+$/, "");
}

function refused(error: unknown, grant: string): string {
  const message = gitHubMessage(error);
  if (/rate limit|abuse/i.test(message)) return "GitHub's rate limit was reached (403). Run the job again later.";
  if (/locked/i.test(message)) return `the conversation is locked (403): ${message}`;
  const detail = /resource not accessible/i.test(message) || message.length < 2 ? "" : ` GitHub answered: ${message}`;
  return `the token may not do that (403).${grant}${grant ? ", which a pull request from a fork never has." : ""}${detail}`;
}

function wasAnswered(error: unknown): boolean {
  return typeof error === "object" && error !== null && "response" in error && error.response !== undefined;
}

function unreached(detail: string): string {
  const why = `GitHub could not be reached: ${detail}`;
  if (!/certificate/i.test(detail)) return why;
  return `${why}. If a proxy is in between, name its certificate in NODE_EXTRA_CA_CERTS of the runner.`;
}

function reason(error: unknown, permission: string | null): string {
  if (error instanceof DeadlineError) return `GitHub gave ${error.message}`;
  const status = statusOf(error);
  const grant = permission === null ? "" : ` The job needs \`permissions: ${permission}\``;
  switch (status) {
    case 401:
      return "the token was refused (401): it is missing, wrong or expired.";
    case 403:
      return refused(error, grant);
    case 404:
      return `GitHub cannot find it with this token (404).${grant}${grant ? ", if it exists." : ""}`;
    case 422:
      return `GitHub refused the content (422): ${gitHubMessage(error)}`;
    case 429:
      return "GitHub's rate limit was reached (429). Run the job again later.";
    default:
      if (status !== null && wasAnswered(error)) {
        return status >= 500 ? `GitHub failed (${status}).` : `GitHub refused it (${status}): ${gitHubMessage(error)}`;
      }
      return status === null ? describeThrown(error) : unreached(describeThrown(error));
  }
}

/** One line for a failure that does not touch the verdict: what failed, why, and the substitute. Never throws. */
export function degradedWarning(attempt: Attempt, error: unknown): string {
  const why = reason(error, attempt.permission);
  return `Could not ${attempt.what}: ${why}${/[.!?…]$/.test(why) ? "" : "."} ${attempt.instead}`;
}

/** What is thrown for a store of baselines on GitHub that cannot be read. */
export function unreadableStore(where: string, permission: string, cause: unknown): GateError {
  const attempt = { what: `read the baselines of ${where}`, permission, instead: "" };
  return new GateError("BASELINE_STORE_UNREADABLE", degradedWarning(attempt, cause).trim(), { where, cause });
}
