import { BadAnswerError } from "../api/bounded-fetch.ts";
import type { Octokit } from "../api/octokit.ts";
import type { Repository } from "../api/run-context.ts";

type RestComment = Awaited<ReturnType<Octokit["rest"]["issues"]["listComments"]>>["data"][number];

interface CommentPages<T> {
  /** In the order of the comments. */
  readonly kept: readonly T[];
  /** GitHub's time before the first page was read, ms since 1970; NaN when the answer has none. */
  readonly readMs: number;
}

/** A proxy between the runner and GitHub can answer instead. */
export const notAComment = (): BadAnswerError => new BadAnswerError("GitHub's answer is not a comment");

/**
 * The comments of a pull request, several pages at a time: thousands of long ones take longer than a step may wait.
 * @param keep what is kept of a page, so that the texts of the others are not
 * @param since time from which on comments were changed, ISO 8601; null = all
 * @throws what the client throws, BadAnswerError
 */
export async function readCommentPages<T>(
  octokit: Octokit,
  { owner, repo, pullRequest }: Repository & { readonly pullRequest: number },
  keep: (comments: readonly RestComment[]) => readonly T[],
  since: string | null = null,
): Promise<CommentPages<T>> {
  const kept: (readonly T[])[] = [];
  const read = async (page: number) => {
    const { data, headers } = await octokit.rest.issues.listComments({
      owner,
      repo,
      issue_number: pullRequest,
      per_page: 100,
      page,
      ...(since === null ? {} : { since }),
    });
    if (!Array.isArray(data)) throw notAComment();
    kept[page - 1] = keep(data);
    return headers;
  };
  const first = await read(1);
  const pages = Number(/[?&]page=(\d{1,6})[^>]*>;\s*rel="last"/.exec(first.link ?? "")?.[1] ?? 1);
  const readMs = Date.parse(first.date ?? "");
  let next = 2;
  const readOn = async (): Promise<void> => {
    while (next <= pages) await read(next++);
  };
  await Promise.all(Array.from({ length: 6 }, readOn));
  return { kept: kept.flat(), readMs };
}
