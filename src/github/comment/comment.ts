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
      const { kept, readMs } = await readCommentPages(octokit, target, marked, readUntil);
      if (!Number.isNaN(readMs)) readUntil ??= new Date(readMs - SERVER_SKEW_MS).toISOString();
      const ours: Marked[] = [];
      for (const comment of kept) if (await isOurs(comment.author)) ours.push(comment);
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
