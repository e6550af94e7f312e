import type { Octokit } from "../api/octokit.ts";
import type { Repository } from "../api/run-context.ts";

/** From both ends at once, because GraphQL has no page numbers and one page can only follow another. */
const LIST = `query ($owner: String!, $repo: String!, $number: Int!, $after: String, $before: String) {
  repository(owner: $owner, name: $repo) { pullRequest(number: $number) {
    head: comments(first: 100, after: $after) { totalCount nodes { ...own } pageInfo { endCursor } }
    tail: comments(last: 100, before: $before) { nodes { ...own } pageInfo { startCursor } }
  } }
}
fragment own on IssueComment { id viewerDidAuthor author { __typename login } }`;
const TEXTS = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on IssueComment { url body } } }";
const PAGE = 100;

interface ListedComment {
  readonly id: string;
  readonly viewerDidAuthor: boolean;
  /** Null for an account that was deleted. */
  readonly author: { readonly __typename: string; readonly login: string } | null;
}

interface Listed {
  readonly head: {
    readonly totalCount: number;
    readonly nodes: readonly ListedComment[];
    readonly pageInfo: { readonly endCursor: string | null };
  };
  readonly tail: {
    readonly nodes: readonly ListedComment[];
    readonly pageInfo: { readonly startCursor: string | null };
  };
}

interface Reply {
  readonly repository: { readonly pullRequest: Listed };
}

interface OwnComment {
  readonly id: number;
  readonly url: string;
  readonly body: string;
}

const isOwn = ({ viewerDidAuthor, author }: ListedComment): boolean =>
  viewerDidAuthor || (author?.__typename === "Bot" && author.login === "github-actions");

/**
 * The comments of a pull request that this token's account or the job token's bot wrote. The texts of others are not
 * read: thousands of long ones take longer than a step may wait.
 * @throws what the client throws
 */
export async function ownComments(
  octokit: Octokit,
  { owner, repo, pullRequest: number }: Repository & { readonly pullRequest: number },
): Promise<readonly OwnComment[]> {
  const found = new Set<string>();
  let after: string | null = null;
  let before: string | null = null;
  for (let total = 1, read = 0; read < total; read += 2 * PAGE) {
    const answer: Reply = await octokit.graphql<Reply>(LIST, { owner, repo, number, after, before });
    const { head, tail }: Listed = answer.repository.pullRequest;
    for (const comment of [...head.nodes, ...tail.nodes]) if (isOwn(comment)) found.add(comment.id);
    [total, after, before] = [head.totalCount, head.pageInfo.endCursor, tail.pageInfo.startCursor];
  }
  const ids = [...found];
  const own: OwnComment[] = [];
  for (let at = 0; at < ids.length; at += PAGE) {
    const { nodes } = await octokit.graphql<{ nodes: readonly (Omit<OwnComment, "id"> | null)[] }>(TEXTS, {
      ids: ids.slice(at, at + PAGE),
    });
    for (const node of nodes) {
      const id = Number(/#issuecomment-(\d+)$/.exec(node?.url ?? "")?.[1]);
      if (node !== null && id > 0) own.push({ ...node, id });
    }
  }
  return own;
}
