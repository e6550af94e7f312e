import { messageOf } from "../../core/errors.ts";

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
  if (typeof error !== "object" || error === null) return { status: null, message };
  const answered = "response" in error && error.response !== undefined;
  const status = answered && "status" in error && typeof error.status === "number" ? error.status : null;
  return { status, message };
}

export function isStatus(error: unknown, ...statuses: readonly number[]): boolean {
  const { status } = apiFailure(error);
  return status !== null && statuses.includes(status);
}

/** Whether the request may have been carried out although no answer confirms it. */
export function isAmbiguous(error: unknown): boolean {
  const { status } = apiFailure(error);
  return status === null || status >= 500;
}
