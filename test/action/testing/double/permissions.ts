import { type Call, NOT_FOUND, type Routes } from "./route.ts";

const EVENTS = "/repos/{owner}/{repo}/issues/{issue_number}/events";
const COMMITS = "/repos/{owner}/{repo}/pulls/{pull_number}/commits";
const PERMISSION = "/repos/{owner}/{repo}/collaborators/{username}/permission";
const REACTIONS = "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions";
const MERGED_BY = "/repos/{owner}/{repo}/commits/{commit_sha}/pulls";
const COMPARE = "/repos/{owner}/{repo}/compare/{basehead}";

/** GitHub's field `permission` of each role; it has fewer values than there are roles. */
const PERMISSIONS = {
  none: "none",
  read: "read",
  triage: "read",
  write: "write",
  maintain: "write",
  admin: "admin",
} as const;
export type Role = keyof typeof PERMISSIONS;

export interface DoubleEvent {
  readonly event: "labeled" | "unlabeled";
  readonly label: string;
  readonly actor: string;
  readonly createdIso: string;
}

export interface DoubleCommit {
  readonly sha: string;
  readonly message: string;
  /** Account that GitHub finds for the author's address; null = none. */
  readonly author: string | null;
  readonly committer?: string | null;
  readonly verified?: boolean;
  readonly parents?: readonly string[];
}

function page<T>(
  call: Call,
  all: readonly T[],
): { readonly items: readonly T[]; readonly headers: Record<string, string> } {
  const { request, url } = call;
  const size = Math.min(100, Number(request.query.get("per_page") ?? 30));
  const at = Number(request.query.get("page") ?? 1);
  const link = `<${url}${request.path}?per_page=${size}&page=${at + 1}>; rel="next"`;
  return { items: all.slice((at - 1) * size, at * size), headers: at * size < all.length ? { link } : {} };
}

function account(call: Call, login: string): object {
  const { user } = call.contract.example("issue-comment") as { user: object };
  return { ...user, login, type: login.endsWith("[bot]") ? "Bot" : "User" };
}

/** Roles in one repository, and the actions of users that an acceptance depends on. */
export class Permissions {
  readonly roles = new Map<string, Role>();
  /** Of each pull request, the oldest first. */
  readonly events = new Map<number, DoubleEvent[]>();
  readonly commits = new Map<number, DoubleCommit[]>();
  readonly reactions: { readonly comment: number; readonly login: string; readonly content: string }[] = [];
  /** Pull requests of a commit, merged or still open. */
  readonly cameBy = new Map<
    string,
    readonly { readonly number: number; readonly headSha: string; readonly merged: boolean }[]
  >();
  /** Commits of the main branch, the oldest first. */
  readonly main: string[] = [];

  readonly routes: Routes = {
    [PERMISSION]: { GET: (call) => this.#permission(call) },
    [EVENTS]: { GET: (call) => this.#events(call) },
    [COMMITS]: { GET: (call) => this.#commits(call) },
    [REACTIONS]: { POST: (call) => this.#react(call) },
    [MERGED_BY]: { GET: (call) => this.#mergedBy(call) },
    [COMPARE]: { GET: (call) => this.#compare(call) },
  };

  #permission(call: Call) {
    const login = call.parameters.username ?? "";
    const role = this.roles.get(login);
    if (role === undefined) return { status: 404, body: { message: `${login} is not a user` } };
    const { user } = call.contract.example("repository-collaborator-permission-response-if-user-has-admin-permissions");
    const body = {
      permission: PERMISSIONS[role],
      role_name: role,
      user: { ...(user as object), login, role_name: role },
    };
    return { status: 200, body };
  }

  #events(call: Call) {
    const all = this.events.get(Number(call.parameters.issue_number)) ?? [];
    const example = (call.contract.example("issue-event-for-issue-items") as unknown as readonly object[])[0];
    const { items, headers } = page(call, all);
    const body = items.map(({ event, label, actor, createdIso }, at) => ({
      ...example,
      id: at + 1,
      event,
      commit_id: null,
      commit_url: null,
      actor: account(call, actor),
      created_at: createdIso,
      label: { name: label, color: "red" },
    }));
    return { status: 200, body, headers };
  }

  #commits(call: Call) {
    const all = this.commits.get(Number(call.parameters.pull_number)) ?? [];
    const example = (call.contract.example("commit-items") as unknown as readonly { commit: object }[])[0];
    const { items, headers } = page(call, all);
    const body = items.map(({ sha, message, author, committer = author, verified = false, parents = [] }) => ({
      ...example,
      sha,
      html_url: `https://github.com/octo/model/commit/${sha}`,
      commit: {
        ...example?.commit,
        message,
        verification: {
          verified,
          reason: verified ? "valid" : "unsigned",
          signature: null,
          payload: null,
          verified_at: null,
        },
      },
      author: author === null ? null : account(call, author),
      committer: committer === null ? null : account(call, committer),
      parents: parents.map((parent) => ({ sha: parent, url: `${call.url}/x`, html_url: `${call.url}/x` })),
    }));
    return { status: 200, body, headers };
  }

  /** GitHub answers 200 instead of 201 when the same account reacted so before. */
  #react(call: Call) {
    const { content } = call.request.body as { content: string };
    const comment = Number(call.parameters.comment_id);
    const again = this.reactions.some(
      (one) => one.comment === comment && one.login === call.token.login && one.content === content,
    );
    if (!again) this.reactions.push({ comment, login: call.token.login, content });
    const body = { ...call.contract.example("reaction"), content, user: account(call, call.token.login) };
    return { status: again ? 200 : 201, body };
  }

  #mergedBy(call: Call) {
    const found = this.cameBy.get(call.parameters.commit_sha ?? "") ?? [];
    const example = (call.contract.example("pull-request-simple-items") as unknown as readonly { head: object }[])[0];
    const body = found.map(({ number, headSha, merged }) => ({
      ...example,
      number,
      requested_teams: [],
      html_url: `https://github.com/octo/model/pull/${number}`,
      head: { ...example?.head, sha: headSha },
      merged_at: merged ? "2026-09-01T00:00:00Z" : null,
    }));
    return { status: 200, body };
  }

  #compare(call: Call) {
    const [from = "", to = ""] = (call.parameters.basehead ?? "").split("...");
    const [start, end] = [this.main.indexOf(from), this.main.indexOf(to)];
    if (start < 0 || end < 0) return NOT_FOUND;
    const example = (call.contract.example("commit-items") as unknown as readonly object[])[0];
    const commits = this.main.slice(start + 1, end + 1).map((sha) => ({ ...example, sha }));
    const body = { ...call.contract.example("commit-comparison"), total_commits: commits.length, commits };
    return { status: 200, body };
  }
}
