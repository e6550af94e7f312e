import { unlessMissing } from "../api/degrade.ts";
import type { Octokit } from "../api/octokit.ts";
import type { Repository } from "../api/run-context.ts";

/** A repository, and the client that asks about it. */
export interface RepositoryClient extends Repository {
  readonly octokit: Octokit;
}

/** An account as GitHub's answers name it. */
export interface Account {
  readonly login: string;
  readonly type?: string;
}

/** Roles that may push. GitHub reports `maintain` as "write" here and custom roles as the base role they extend. */
const WRITING: ReadonlySet<string> = new Set(["write", "maintain", "admin"]);

/** Whether an account may accept, or the reason why not. */
export type PermissionAnswer = { readonly allowed: true } | { readonly allowed: false; readonly why: string };

function isBot({ login, type }: Account): boolean {
  return type === "Bot" || type === "Mannequin" || login.endsWith("[bot]");
}

/** Asks GitHub who may write, each account about once. The answer rejects with what the client throws. */
export function writePermission({ octokit, owner, repo }: RepositoryClient) {
  const asked = new Map<string, Promise<PermissionAnswer>>();
  const ask = async (username: string): Promise<PermissionAnswer> => {
    const no = (role: string): PermissionAnswer => ({
      allowed: false,
      why: `${username} has ${role} on ${owner}/${repo}; accepting takes write permission`,
    });
    const data = (await unlessMissing(octokit.rest.repos.getCollaboratorPermissionLevel({ owner, repo, username })))
      ?.data;
    // A name that was taken over since is recognised by the account in the answer.
    const login = data?.user?.login ?? username;
    if (data === undefined || login.toLowerCase() !== username.toLowerCase()) return no("no permission");
    return WRITING.has(data.permission) ? { allowed: true } : no(`${data.permission} permission`);
  };
  return async (account: Account | null): Promise<PermissionAnswer> => {
    if (account === null) return { allowed: false, why: "the account of its author is unknown to GitHub" };
    if (isBot(account)) return { allowed: false, why: `${account.login} is a bot; a person has to accept` };
    const key = account.login.toLowerCase();
    const answer = asked.get(key) ?? ask(account.login);
    asked.set(key, answer);
    return answer;
  };
}
