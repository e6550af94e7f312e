import { type Answer, HttpDouble, type Request } from "./http.ts";
import { GitHubContract } from "./openapi.ts";

export const COMMENTS = "/repos/{owner}/{repo}/issues/{issue_number}/comments";
export const COMMENT = "/repos/{owner}/{repo}/issues/comments/{comment_id}";
export const PULL = "/repos/{owner}/{repo}/pulls/{pull_number}";

const ROUTES = [COMMENTS, COMMENT, PULL].map((route) => ({
  route,
  pattern: new RegExp(`^${route.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
}));

export interface DoubleComment {
  id: number;
  issue: number;
  author: string;
  body: string;
}

/** What the token may do; the double answers like GitHub when it may not. */
export interface TokenRights {
  readonly login: string;
  readonly write: boolean;
}

const MAX_BODY_BYTES = 262_144;

/** Issue comments and pull requests of one repository, checked on both sides against GitHub's own description. */
export class GitHubDouble extends HttpDouble {
  readonly contract = new GitHubContract();
  readonly comments: DoubleComment[] = [];
  /** Head commit of each pull request. */
  readonly heads = new Map<number, string>();
  readonly tokens = new Map<string, TokenRights>();
  #nextId = 1000;

  constructor() {
    super((request) => this.#route(request));
  }

  /** Put a comment there as somebody else would have. */
  addComment(issue: number, author: string, body: string): DoubleComment {
    const comment = { id: this.#nextId, issue, author, body };
    this.#nextId += 1;
    this.comments.push(comment);
    return comment;
  }

  #route(request: Request): Answer {
    const token = this.tokens.get(request.authorization.replace(/^(token|bearer) /i, ""));
    if (token === undefined) return { status: 401, body: { message: "Bad credentials" } };
    if (request.path === "/graphql") return { status: 200, body: { data: { viewer: { login: token.login } } } };
    for (const { route, pattern } of ROUTES) {
      const parameters = pattern.exec(request.path)?.groups;
      if (parameters === undefined) continue;
      const wrong = this.contract.requestProblem(request.method, route, request.body);
      if (wrong !== null) this.faults.push(`${request.method} ${request.path} ${wrong}`);
      const answer = this.#handle(request, route, parameters, token);
      // 403 is what GitHub answers to missing rights everywhere; its description lists it only for some operations.
      const problem =
        answer.status === 403 ? null : this.contract.responseProblem(request.method, route, answer.status, answer.body);
      if (problem !== null) this.faults.push(`${request.method} ${request.path} ${problem}`);
      return answer;
    }
    return { status: 404, body: { message: "Not Found" } };
  }

  #handle(request: Request, route: string, parameters: Record<string, string>, token: TokenRights): Answer {
    if (request.method !== "GET" && !token.write) {
      return { status: 403, body: { message: "Resource not accessible by integration" } };
    }
    if (route === PULL) return this.#pull(Number(parameters.pull_number));
    if (route === COMMENTS) {
      const issue = Number(parameters.issue_number);
      return request.method === "GET" ? this.#list(request, issue) : this.#create(request, issue, token);
    }
    const comment = this.comments.find(({ id }) => id === Number(parameters.comment_id));
    if (comment === undefined) return { status: 404, body: { message: "Not Found" } };
    if (comment.author !== token.login)
      return { status: 403, body: { message: "Must have admin rights to Repository." } };
    if (request.method === "DELETE") {
      this.comments.splice(this.comments.indexOf(comment), 1);
      return { status: 204 };
    }
    const tooLong = this.#tooLong(request);
    if (tooLong !== null) return tooLong;
    comment.body = (request.body as { body: string }).body;
    return { status: 200, body: this.#render(comment) };
  }

  #tooLong(request: Request): Answer | null {
    if (Buffer.byteLength((request.body as { body: string }).body) <= MAX_BODY_BYTES) return null;
    const message = "Validation Failed: body is too long (maximum is 65536 characters)";
    return { status: 422, body: { message, documentation_url: "https://docs.github.com/rest", errors: [] } };
  }

  #create(request: Request, issue: number, token: TokenRights): Answer {
    const tooLong = this.#tooLong(request);
    if (tooLong !== null) return tooLong;
    const comment = this.addComment(issue, token.login, (request.body as { body: string }).body);
    return { status: 201, body: this.#render(comment) };
  }

  #list(request: Request, issue: number): Answer {
    const size = Math.min(100, Number(request.query.get("per_page") ?? 30));
    const page = Number(request.query.get("page") ?? 1);
    const all = this.comments.filter((comment) => comment.issue === issue);
    const pages = Math.max(1, Math.ceil(all.length / size));
    const link = (to: number, rel: string): string =>
      `<${this.url}${request.path}?per_page=${size}&page=${to}>; rel="${rel}"`;
    return {
      status: 200,
      body: all.slice((page - 1) * size, page * size).map((comment) => this.#render(comment)),
      headers: page < pages ? { link: `${link(page + 1, "next")}, ${link(pages, "last")}` } : {},
    };
  }

  #pull(number: number): Answer {
    const sha = this.heads.get(number);
    if (sha === undefined) return { status: 404, body: { message: "Not Found" } };
    const example = this.contract.example("pull-request");
    // The official example lacks fields its own schema wants for teams; without teams it is complete.
    return {
      status: 200,
      body: { ...example, number, requested_teams: [], head: { ...(example.head as object), sha } },
    };
  }

  #render({ id, author, body, issue }: DoubleComment): object {
    const example = this.contract.example("issue-comment");
    const user = { ...(example.user as object), login: author, type: author.endsWith("[bot]") ? "Bot" : "User" };
    const html = `https://github.com/octo/model/pull/${issue}#issuecomment-${id}`;
    // GitHub gives line ends back as it stored them from a form: CRLF.
    return { ...example, id, body: body.replace(/\n/g, "\r\n"), user, html_url: html };
  }
}
