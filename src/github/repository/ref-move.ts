import { apiFailure, isAmbiguous, isStatus, unlessMissing } from "../api/degrade.ts";
import type { Octokit } from "../api/octokit.ts";
import type { Repository } from "../api/run-context.ts";

/** A ref that shall go from one commit to another, and only from that one. Null = the ref must not exist yet. */
export interface RefMove {
  /** Full name. */
  readonly ref: string;
  readonly from: string | null;
  readonly to: string;
}

/** The name of a ref as the REST API's paths want it. */
export function shortRef(ref: string): string {
  return ref.replace(/^refs\//, "");
}

/** Commit a ref points to; null when the ref does not exist. */
export async function tipOf(octokit: Octokit, repository: Repository, ref: string): Promise<string | null> {
  const found = await unlessMissing(octokit.rest.git.getRef({ ...repository, ref: shortRef(ref) }));
  return found?.data.object.sha ?? null;
}

/** Whether a commit is the tip of a ref or behind it. */
async function holds(octokit: Octokit, repository: Repository, ref: string, commit: string): Promise<boolean> {
  const tip = await tipOf(octokit, repository, ref);
  if (tip === null || tip === commit) return tip === commit;
  const basehead = `${commit}...${tip}`;
  const { data } = await octokit.rest.repos.compareCommitsWithBasehead({ ...repository, basehead, per_page: 1 });
  return data.status === "ahead" || data.status === "identical";
}

/**
 * Move a ref forward. GitHub refuses a move that is not a fast-forward, and a new ref that exists already: so it is a
 * compare-and-swap as long as `to` has `from` as its parent. False = another writer was faster. A lost answer is looked
 * up, never assumed.
 * @throws what the client throws
 */
export async function advance(octokit: Octokit, repository: Repository, { ref, from, to }: RefMove): Promise<boolean> {
  // A second try after a lost answer would meet our own first one; it is looked up instead.
  const request = { retries: 0 };
  try {
    if (from === null) await octokit.rest.git.createRef({ ...repository, ref, sha: to, request });
    else await octokit.rest.git.updateRef({ ...repository, ref: shortRef(ref), sha: to, force: false, request });
    return true;
  } catch (error) {
    if (isStatus(error, 422) && /fast.?forward|already exists/i.test(apiFailure(error).message)) return false;
    if (isAmbiguous(error) && (await holds(octokit, repository, ref, to))) return true;
    // Refused for another reason (a rule of the repository, a lock), unless the ref has moved after all.
    if (isStatus(error, 409, 422) && (await tipOf(octokit, repository, ref)) !== from) return false;
    throw error;
  }
}

const REPLACE = `mutation($repositoryId: ID!, $name: GitRefname!, $before: GitObjectID!, $after: GitObjectID!) {
  updateRefs(input: {
    repositoryId: $repositoryId, refUpdates: [{ name: $name, beforeOid: $before, afterOid: $after, force: true }]
  }) { clientMutationId }
}`;

export type Replacement = "moved" | "lost" | { readonly refused: unknown };

/** Compare-and-swap to a commit that is not a descendant; REST's forced update would drop another writer's commit. */
export async function replace(
  octokit: Octokit,
  repository: Repository,
  { ref, from, to }: RefMove & { readonly from: string },
): Promise<Replacement> {
  try {
    const { data } = await octokit.rest.repos.get({ ...repository });
    await octokit.graphql(REPLACE, {
      repositoryId: data.node_id,
      name: ref,
      before: from,
      after: to,
      request: { retries: 0 },
    });
    return "moved";
  } catch (error) {
    const tip = await tipOf(octokit, repository, ref);
    if (tip === to) return "moved";
    return tip === from ? { refused: error } : "lost";
  }
}
