import type { GitHubDouble } from "../github-double.ts";
import type { GitDataDouble } from "./git-data.ts";
import { PULL } from "./pulls.ts";
import { type Call, NOT_FOUND, type Routes, unprocessable } from "./route.ts";

export interface DoubleIssue {
  readonly number: number;
  readonly author: string;
  title: string;
  body: string;
  state: "open" | "closed";
}

export interface DoubleProposal {
  readonly number: number;
  readonly author: string;
  readonly head: string;
  readonly base: string;
  title: string;
  body: string;
  state: "open" | "closed";
}

interface Text {
  readonly title?: string;
  readonly body?: string;
  readonly state?: "open" | "closed";
}

/** Issues, pull requests by branch, and the repository itself, as far as a nightly job uses them. */
export class NightlyDouble {
  readonly issues: DoubleIssue[] = [];
  readonly proposals: DoubleProposal[] = [];
  /** Setting "Allow GitHub Actions to create and approve pull requests". */
  mayOpenPullRequests = true;
  defaultBranch = "main";
  protected = true;
  fork = false;
  #next = 40;
  readonly #git: GitDataDouble;

  constructor(git: GitDataDouble) {
    this.#git = git;
  }

  /** Add an issue of any user. */
  addIssue(author: string, title: string, body: string): DoubleIssue {
    const issue: DoubleIssue = { number: this.#next, author, title, body, state: "open" };
    this.#next += 1;
    this.issues.push(issue);
    return issue;
  }

  use(double: GitHubDouble): void {
    double.use(this.routes);
  }

  readonly routes: Routes = {
    "/repos/{owner}/{repo}": {
      GET: ({ contract }) => {
        const example = contract.example("full-repository-default-response");
        const { parent: _parent, source: _source, ...own } = example;
        return { status: 200, body: { ...own, language: null, default_branch: this.defaultBranch, fork: this.fork } };
      },
    },
    "/repos/{owner}/{repo}/branches/{branch}": {
      GET: ({ contract, parameters }) => {
        if (parameters.branch !== this.defaultBranch) return NOT_FOUND;
        return { status: 200, body: { ...contract.example("branch-get"), protected: this.protected } };
      },
    },
    "/repos/{owner}/{repo}/contents/{path}": {
      GET: ({ contract, parameters, request }) => {
        const ref = request.query.get("ref") ?? this.defaultBranch;
        try {
          const text = this.#git.git("show", `refs/heads/${ref}:${parameters.path}`);
          const example = contract.example("content-file-response-if-content-is-a-file");
          const content = Buffer.from(`${text}\n`).toString("base64");
          return {
            status: 200,
            body: { ...example, path: parameters.path, type: "file", encoding: "base64", content },
          };
        } catch {
          return NOT_FOUND;
        }
      },
    },
    "/repos/{owner}/{repo}/issues": {
      GET: (call) => this.#list(call),
      POST: (call) => {
        const { title, body = "" } = call.request.body as { title: string; body?: string };
        return { status: 201, body: this.#render(call, this.addIssue(call.token.login, title, body)) };
      },
    },
    "/repos/{owner}/{repo}/issues/{issue_number}": {
      GET: (call) => this.#issue(call, (issue) => issue),
      PATCH: (call) => this.#issue(call, (issue) => Object.assign(issue, textOf(call))),
    },
    "/repos/{owner}/{repo}/pulls": {
      GET: (call) => this.#listPulls(call),
      POST: (call) => this.#open(call),
    },
    [PULL]: {
      PATCH: (call) => {
        const found = this.proposals.find(({ number }) => number === Number(call.parameters.pull_number));
        if (found === undefined) return NOT_FOUND;
        Object.assign(found, textOf(call));
        return { status: 200, body: this.#renderPull(call, found, "pull-request") };
      },
    },
  };

  #issue(call: Call, change: (issue: DoubleIssue) => DoubleIssue) {
    const found = this.issues.find(({ number }) => number === Number(call.parameters.issue_number));
    return found === undefined ? NOT_FOUND : { status: 200, body: this.#render(call, change(found)) };
  }

  #list(call: Call) {
    const { query } = call.request;
    const size = Math.min(100, Number(query.get("per_page") ?? 30));
    const page = Number(query.get("page") ?? 1);
    const state = query.get("state") ?? "open";
    const open = this.issues.filter((issue) => state === "all" || issue.state === state);
    if (query.get("direction") !== "asc") open.reverse();
    const more = page * size < open.length;
    const next = new URLSearchParams({ ...Object.fromEntries(query), page: String(page + 1) });
    const headers: Record<string, string> = more
      ? { link: `<${call.url}${call.request.path}?${next}>; rel="next"` }
      : {};
    return {
      status: 200,
      body: open.slice((page - 1) * size, page * size).map((issue) => this.#render(call, issue)),
      headers,
    };
  }

  #render({ contract }: Call, { number, author, title, body, state }: DoubleIssue): object {
    const { pull_request: _pull, ...example } = contract.example("issue") as { user: object; pull_request?: unknown };
    const user = { ...example.user, login: author };
    // GitHub gives line ends back as it stored them from a form: CRLF.
    const text = body.replace(/\r?\n/g, "\r\n");
    return {
      ...example,
      number,
      title,
      body: text,
      state,
      user,
      html_url: `https://github.com/octo/model/issues/${number}`,
    };
  }

  #listPulls(call: Call) {
    const head = call.request.query.get("head");
    const state = call.request.query.get("state") ?? "open";
    const found = this.proposals.filter(
      (one) => (state === "all" || one.state === state) && (head === null || head === `octo:${one.head}`),
    );
    if (call.request.query.get("direction") !== "asc") found.reverse();
    return { status: 200, body: found.map((one) => this.#renderPull(call, one, "pull-request-simple-items")) };
  }

  #open(call: Call) {
    const { title = "", body = "", head, base } = call.request.body as { head: string; base: string } & Text;
    if (!this.mayOpenPullRequests) {
      const message = "GitHub Actions is not permitted to create or approve pull requests.";
      return { status: 403, body: { message } };
    }
    // GitHub refuses a pull request without common history or without new commits.
    try {
      this.#git.git("merge-base", `refs/heads/${head}`, `refs/heads/${base}`);
    } catch {
      return unprocessable(`The ${head} branch has no history in common with ${base}`);
    }
    if (this.#git.git("rev-list", "--count", `refs/heads/${base}..refs/heads/${head}`) === "0") {
      return unprocessable(`No commits between ${base} and ${head}`);
    }
    const proposal = { number: this.#next, author: call.token.login, head, base, title, body, state: "open" as const };
    this.#next += 1;
    this.proposals.push(proposal);
    return { status: 201, body: this.#renderPull(call, proposal, "pull-request") };
  }

  #renderPull({ contract }: Call, one: DoubleProposal, name: "pull-request" | "pull-request-simple-items"): object {
    const shown = contract.example(name);
    const example = (Array.isArray(shown) ? shown[0] : shown) as { head: object; base: object };
    const { number, title, body, state } = one;
    const head = { ...example.head, ref: one.head, label: `octo:${one.head}` };
    const base = { ...example.base, ref: one.base };
    const html_url = `https://github.com/octo/model/pull/${number}`;
    return { ...example, number, title, body, state, head, base, html_url, merged_at: null, requested_teams: [] };
  }
}

function textOf(call: Call): Text {
  const { title, body, state } = call.request.body as Text;
  return {
    ...(title === undefined ? {} : { title }),
    ...(body === undefined ? {} : { body }),
    ...(state === undefined ? {} : { state }),
  };
}
