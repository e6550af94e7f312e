import { setTimeout as delay } from "node:timers/promises";
import { degradedWarning, isStatus } from "../api/degrade.ts";
import type { Octokit } from "../api/octokit.ts";
import { markerKey, ownAuthor, sameText } from "../api/own-texts.ts";
import type { Repository } from "../api/run-context.ts";
import { notAComment, readCommentPages } from "../pull-request/comment-pages.ts";

/** GitHub documents a limit of 65,536 characters (it stores 262,144 bytes); the rest is room for the marker. */
export const MAX_COMMENT_CHARS = 60_000;

export interface CommentTarget extends Repository {
  readonly pullRequest: number;
  /** Commit the text is about: an older run must not overwrite the text of a newer one. Null = do not check. */
  readonly headSha: string | null;
  /** Gate id, with the leg of a matrix behind a slash. */
  readonly key: string;
  /** Maximum random wait before a comment is created, ms (default 0): jobs that end together then create only one. */
  readonly settleMs?: number;
}

export type CommentResult =
  | { readonly action: "created" | "updated" | "unchanged"; readonly url: string }
  /** The pull request has moved on; the run of its newer commit comments. */
  | { readonly action: "outdated" };

/** First line of a sticky comment, by which it is found again. Invisible when rendered. */
export function commentMarker(key: string): string {
  return `<!-- stormlog-gate:${markerKey(key)} -->`;
}

/** GitHub's servers do not share one clock. */
const SERVER_SKEW_MS = 60_000;

/** How often a comment may be deleted under our hands before that is a failure. */
const MAX_ATTEMPTS = 4;

/** Pages of comments that are read whole. Of more, which can have hundreds of megabytes, only our own texts are. */
const MAX_PAGES = 5;

interface Marked {
  readonly id: number;
  readonly body: string;
  readonly url: string;
}

/** A comment without a page was not written. */
function pageOf(comment: { readonly html_url?: unknown }): string {
  if (typeof comment.html_url !== "string") throw notAComment();
  return comment.html_url;
}

/** The comment that was just found is not there any more. */
class GoneError extends Error {
  override readonly name = "GoneError";
}

/** Comments of a gate on a pull request: the first line is the marker, which anyone can paste, and we the author. */
function stickyComments(octokit: Octokit, target: CommentTarget) {
  const { owner, repo, pullRequest, headSha } = target;
  const marker = commentMarker(target.key);
  const isOurs = ownAuthor(octokit);
  /** Comments before this time by GitHub's clock have been read; null = none have. */
  let readUntil: string | null = null;
  const isMarked = ({ body }: { readonly body?: string | undefined }): boolean =>
    body?.split(/\r?\n/, 1)[0]?.trimEnd() === marker;
  return {
    /**
     * The oldest (lowest id) first. Once all comments have been read, only those written since then are: thousands of
     * long ones take most of the time that there is.
     */
    async find(): Promise<readonly Marked[]> {
      const marked: Parameters<typeof readCommentPages<Marked & { readonly author: string }>>[2] = (comments) =>
        comments.filter(isMarked).map(({ id, body, user, html_url }) => {
          return { id, body: body ?? "", author: user?.login ?? "", url: html_url };
        });
      const { kept, readMs } = await readCommentPages(octokit, target, marked, readUntil, MAX_PAGES);
      if (!Number.isNaN(readMs)) readUntil ??= new Date(readMs - SERVER_SKEW_MS).toISOString();
      const ours: Marked[] = [];
      if (kept === null) ours.push(...(await ownComments(octokit, target)).filter(isMarked));
      for (const comment of kept ?? []) if (await isOurs(comment.author)) ours.push(comment);
      return ours.sort((a, b) => a.id - b.id);
    },

    async create(body: string): Promise<string> {
      const { data } = await octokit.rest.issues.createComment({ owner, repo, issue_number: pullRequest, body });
      return pageOf(data);
    },

    async update(id: number, body: string): Promise<string> {
      try {
        const { data } = await octokit.rest.issues.updateComment({ owner, repo, comment_id: id, body });
        return pageOf(data);
      } catch (error) {
        // There may be another one among those that were read before.
        if (isStatus(error, 404)) readUntil = null;
        throw isStatus(error, 404) ? new GoneError("the comment was deleted again and again", { cause: error }) : error;
      }
    },

    /** Another run may have deleted it already; a duplicate that remains is not an error. */
    async remove(id: number): Promise<void> {
      await octokit.rest.issues.deleteComment({ owner, repo, comment_id: id }).catch(() => {});
    },

    /** False only on GitHub's answer; a token that cannot read pull requests does not suppress the comment. */
    async isOutdated(): Promise<boolean> {
      if (headSha === null) return false;
      const asked = { owner, repo, pull_number: pullRequest, request: { retries: 0 } };
      const outdated = octokit.rest.pulls.get(asked).then(({ data }) => data.head.sha !== headSha);
      return outdated.catch(() => false);
    },
  };
}

/**
 * Keep exactly one comment of this gate on the pull request, with this text: created once (which notifies), then
 * updated (which does not), left alone when nothing changed. Of duplicates the oldest stays.
 * @param text markdown without the marker
 * @throws whatever the client throws
 */
export async function upsertComment(octokit: Octokit, target: CommentTarget, text: string): Promise<CommentResult> {
  const body = `${commentMarker(target.key)}\n${text.slice(0, MAX_COMMENT_CHARS)}`;
  const comments = stickyComments(octokit, target);
  for (let attempt = 1; ; attempt += 1) {
    if (await comments.isOutdated()) return { action: "outdated" };
    try {
      return await write(comments, body, target.settleMs ?? 0);
    } catch (error) {
      // Another run took it for a duplicate, or a person deleted it, after it was found: look again.
      if (!(error instanceof GoneError)) throw error;
      if (attempt === MAX_ATTEMPTS) throw error.cause;
    }
  }
}

async function write(
  comments: ReturnType<typeof stickyComments>,
  body: string,
  settleMs: number,
): Promise<CommentResult> {
  let [kept, ...duplicates] = await comments.find();
  if (kept === undefined && settleMs > 0) {
    await delay(Math.random() * settleMs);
    [kept, ...duplicates] = await comments.find();
  }
  let createdUrl: string | null = null;
  if (kept === undefined) {
    createdUrl = await comments.create(body);
    // Two runs can find nothing at the same time and both create. The one that looks last cleans up.
    [kept, ...duplicates] = await comments.find();
    if (kept === undefined) return { action: "created", url: createdUrl };
  }
  for (const { id } of duplicates) await comments.remove(id);
  if (sameText(kept.body, body)) return { action: createdUrl === null ? "unchanged" : "created", url: kept.url };
  return { action: "updated", url: await comments.update(kept.id, body) };
}

/** The one warning for a comment that could not be kept. */
export function commentWarning(
  error: unknown,
  instead = "The verdict is unaffected. The job summary shows the text of the comment.",
): string {
  return degradedWarning(
    { what: "update the pull request comment", permission: "pull-requests: write", instead },
    error,
  );
}

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
async function ownComments(
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
