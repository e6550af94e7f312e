import type { Answer, Request } from "../http.ts";
import type { GitHubContract } from "../openapi.ts";

/** What the token of a request may do; the double answers like GitHub when it may not. */
export interface TokenRights {
  readonly login: string;
  readonly write: boolean;
}

/** One request on its way to a handler. */
export interface Call {
  readonly request: Request;
  /** Values of the route's `{names}`, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly token: TokenRights;
  readonly contract: GitHubContract;
  /** Address of the double, for links. */
  readonly url: string;
}

export type Handler = (call: Call) => Answer | Promise<Answer>;

/** A part of GitHub: routes as its OpenAPI description writes them, each with its methods. */
export type Routes = Readonly<
  Record<string, Readonly<Partial<Record<"GET" | "POST" | "PATCH" | "PUT" | "DELETE", Handler>>>>
>;

export const NOT_FOUND: Answer = { status: 404, body: { message: "Not Found" } };

export function unprocessable(message: string): Answer {
  return { status: 422, body: { message, documentation_url: "https://docs.github.com/rest", errors: [] } };
}
