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

/** Asks GitHub who may write: each account about once in the lifetime of the object. */
export class WritePermission {
  readonly #repository: RepositoryClient;
  readonly #asked = new Map<string, Promise<PermissionAnswer>>();

  constructor(repository: RepositoryClient) {
    this.#repository = repository;
  }

  /** @throws what the client throws, except for an account that GitHub does not know */
  of(account: Account | null | undefined): Promise<PermissionAnswer> {
    if (account === null || account === undefined) {
      return Promise.resolve({ allowed: false, why: "the account of its author is unknown to GitHub" });
    }
    if (isBot(account)) {
      return Promise.resolve({ allowed: false, why: `${account.login} is a bot; a person has to accept` });
    }
    const key = account.login.toLowerCase();
    const known = this.#asked.get(key);
    if (known !== undefined) return known;
    const asked = this.#ask(account.login);
    this.#asked.set(key, asked);
    return asked;
  }

  async #ask(username: string): Promise<PermissionAnswer> {
    const { octokit, owner, repo } = this.#repository;
    const no = (role: string): PermissionAnswer => ({
      allowed: false,
      why: `${username} has ${role} on ${owner}/${repo}; accepting takes write permission`,
    });
    try {
      const { data } = await octokit.rest.repos.getCollaboratorPermissionLevel({ owner, repo, username });
      // A name that was taken over since is recognised by the account in the answer.
      if (data.user !== null && data.user.login.toLowerCase() !== username.toLowerCase()) return no("no permission");
      return WRITING.has(data.permission) ? { allowed: true } : no(`${data.permission} permission`);
    } catch (error) {
      if ((error as { status?: unknown }).status === 404) return no("no permission");
      throw error;
    }
  }
}
