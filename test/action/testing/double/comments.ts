import type { Answer, Request } from "../http.ts";
import { type Call, NOT_FOUND, type Routes, unprocessable } from "./route.ts";

export const COMMENTS = "/repos/{owner}/{repo}/issues/{issue_number}/comments";
export const COMMENT = "/repos/{owner}/{repo}/issues/comments/{comment_id}";

export interface DoubleComment {
  id: number;
  issue: number;
  author: string;
  body: string;
  createdIso: string;
  /** When it was last edited; absent = never. */
  updatedIso?: string;
}

const addressOf = ({ issue, id }: DoubleComment): string =>
  `https://github.com/octo/model/pull/${issue}#issuecomment-${id}`;
const MAX_BODY_BYTES = 262_144;

/** Issue comments of one repository. */
export class Comments {
  readonly all: DoubleComment[] = [];
  #nextId = 1000;

  /** Add a comment of any user. */
  add(issue: number, author: string, body: string, createdIso = new Date().toISOString()): DoubleComment {
    const comment = { id: this.#nextId, issue, author, body, createdIso };
    this.#nextId += 1;
    this.all.push(comment);
    return comment;
  }

  readonly routes: Routes = {
    [COMMENTS]: { GET: (call) => this.#list(call), POST: (call) => this.#create(call) },
    [COMMENT]: {
      GET: (call) => this.#own(call, (comment) => ({ status: 200, body: this.#render(call, comment) }), false),
      PATCH: (call) => this.#own(call, (comment) => this.#edit(call, comment)),
      DELETE: (call) => this.#own(call, (comment) => this.#remove(comment)),
    },
  };

  #own({ parameters, token }: Call, act: (comment: DoubleComment) => Answer, mine = true): Answer {
    const comment = this.all.find(({ id }) => id === Number(parameters.comment_id));
    if (comment === undefined) return NOT_FOUND;
    if (mine && comment.author !== token.login)
      return { status: 403, body: { message: "Must have admin rights to Repository." } };
    return act(comment);
  }

  #edit(call: Call, comment: DoubleComment): Answer {
    const tooLong = this.#tooLong(call.request);
    if (tooLong !== null) return tooLong;
    comment.body = (call.request.body as { body: string }).body;
    return { status: 200, body: this.#render(call, comment) };
  }

  #remove(comment: DoubleComment): Answer {
    this.all.splice(this.all.indexOf(comment), 1);
    return { status: 204 };
  }

  #tooLong(request: Request): Answer | null {
    if (Buffer.byteLength((request.body as { body: string }).body) <= MAX_BODY_BYTES) return null;
    return unprocessable("Validation Failed: body is too long (maximum is 65536 characters)");
  }

  #create(call: Call): Answer {
    const tooLong = this.#tooLong(call.request);
    if (tooLong !== null) return tooLong;
    const issue = Number(call.parameters.issue_number);
    const comment = this.add(issue, call.token.login, (call.request.body as { body: string }).body);
    return { status: 201, body: this.#render(call, comment) };
  }

  #list(call: Call): Answer {
    const { request, url } = call;
    const size = Math.min(100, Number(request.query.get("per_page") ?? 30));
    const page = Number(request.query.get("page") ?? 1);
    const since = request.query.get("since");
    const all = this.all.filter(
      ({ issue, createdIso, updatedIso }) =>
        issue === Number(call.parameters.issue_number) &&
        (since === null || Date.parse(updatedIso ?? createdIso) >= Date.parse(since)),
    );
    const pages = Math.max(1, Math.ceil(all.length / size));
    const link = (to: number, rel: string): string =>
      `<${url}${request.path}?per_page=${size}&page=${to}>; rel="${rel}"`;
    return {
      status: 200,
      body: all.slice((page - 1) * size, page * size).map((comment) => this.#render(call, comment)),
      headers: page < pages ? { link: `${link(page + 1, "next")}, ${link(pages, "last")}` } : {},
    };
  }

  #render({ contract }: Call, comment: DoubleComment): object {
    const { id, author, body, createdIso, updatedIso } = comment;
    const example = contract.example("issue-comment");
    const user = { ...(example.user as object), login: author, type: author.endsWith("[bot]") ? "Bot" : "User" };
    const times = { node_id: `IC_${id}`, created_at: createdIso, updated_at: updatedIso ?? createdIso };
    // GitHub gives line ends back as it stored them from a form: CRLF.
    return { ...example, ...times, id, body: body.replace(/\n/g, "\r\n"), user, html_url: addressOf(comment) };
  }
}
