import type { Environment } from "../../core/process/environment.ts";
import { ACCEPT_LABEL } from "../../github/pull-request/acceptances.ts";
import { eventField, eventNumber, eventOf } from "../../github/pull-request/pull-request.ts";
import { commandsOf } from "../../github/pull-request/trailers.ts";

/** What started this step, by its event: a hint where to look, never a reason to trust. */
export type AcceptRequest =
  | { readonly kind: "comment"; readonly pullRequest: number; readonly comment: number }
  | { readonly kind: "label"; readonly pullRequest: number }
  | { readonly kind: "by-hand"; readonly pullRequest: number }
  /** Nothing for this step; `reason` for the log. */
  | { readonly kind: "none"; readonly reason: string };

function ofComment(payload: unknown): AcceptRequest {
  const none = (reason: string): AcceptRequest => ({ kind: "none", reason });
  if (eventField(payload, "action") !== "created") return none("the comment is not a new one");
  if (eventField(payload, "issue", "pull_request") === undefined) return none("the comment is on an issue");
  const body = eventField(payload, "comment", "body");
  // A command that an edit added later is ignored: a new comment is needed.
  if (typeof body !== "string" || commandsOf(body).length === 0) return none("the comment accepts nothing");
  const [pullRequest, comment] = [eventNumber(payload, "issue", "number"), eventNumber(payload, "comment", "id")];
  if (pullRequest === null || comment === null) return none("the event names no comment");
  return { kind: "comment", pullRequest, comment };
}

function ofLabel(payload: unknown): AcceptRequest {
  const pullRequest = eventNumber(payload, "pull_request", "number");
  const set = eventField(payload, "action") === "labeled" && eventField(payload, "label", "name") === ACCEPT_LABEL;
  if (!set || pullRequest === null) return { kind: "none", reason: `the label ${ACCEPT_LABEL} was not set` };
  return { kind: "label", pullRequest };
}

/** Read the event; a number given by hand comes first. */
export function readAcceptRequest(env: Environment, byHand: number | null): AcceptRequest {
  if (byHand !== null) return { kind: "by-hand", pullRequest: byHand };
  const payload = eventOf(env);
  if (payload === undefined) return { kind: "none", reason: "the event is missing" };
  switch (env.GITHUB_EVENT_NAME) {
    case "issue_comment":
      return ofComment(payload);
    case "pull_request":
    case "pull_request_target":
      return ofLabel(payload);
    default:
      return { kind: "none", reason: "this event accepts nothing; give the input pull-request to ask by hand" };
  }
}
