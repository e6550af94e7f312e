import type { Octokit } from "../api/octokit.ts";
import { markerKey, ownAuthor, sameText } from "../api/own-texts.ts";
import type { Repository } from "../api/run-context.ts";

export interface IssueTarget extends Repository {
  /** What the issue is about; one issue is open per key. */
  readonly key: string;
}

export interface IssueText {
  readonly title: string;
  /** Markdown without the marker. */
  readonly body: string;
}

export type IssueResult =
  | { readonly action: "created" | "updated" | "unchanged" | "closed"; readonly number: number; readonly url: string }
  | { readonly action: "none" };

/** First line of an issue that is kept up to date, by which it is found again. Invisible when rendered. */
export function issueMarker(key: string): string {
  return `<!-- stormlog-nightly:${markerKey(key)} -->`;
}

interface ExistingIssue {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly url: string;
}

/** Our open issues of a key, the oldest first. A marker can be pasted by anyone, so the author has to be us. */
async function openIssues(octokit: Octokit, { owner, repo, key }: IssueTarget): Promise<readonly ExistingIssue[]> {
  const isOurs = ownAuthor(octokit);
  const found: ExistingIssue[] = [];
  let pages = 0;
  const listing = octokit.paginate.iterator(octokit.rest.issues.listForRepo, {
    owner,
    repo,
    state: "open",
    sort: "created",
    direction: "desc",
    per_page: 100,
  });
  for await (const { data } of listing) {
    for (const { number, title, body, user, html_url, pull_request } of data) {
      if (pull_request !== undefined || body?.split(/\r?\n/, 1)[0]?.trimEnd() !== issueMarker(key)) continue;
      if (await isOurs(user?.login ?? "")) found.push({ number, title, body, url: html_url });
    }
    pages += 1;
    // Open issues that are looked through, in pages of 100: a repository with more has ours among the newest.
    if (pages >= 10) break;
  }
  return found.sort((a, b) => a.number - b.number);
}

/** GitHub's documented limit is 65,536 characters; the rest is room for the marker. */
const bodyOf = ({ key }: IssueTarget, { body }: IssueText): string => `${issueMarker(key)}\n${body}`.slice(0, 60_000);

async function change(
  octokit: Octokit,
  { owner, repo }: IssueTarget,
  number: number,
  text: Partial<IssueText>,
  close: boolean,
) {
  const closed = close ? ({ state: "closed", state_reason: "completed" } as const) : {};
  await octokit.rest.issues.update({ owner, repo, issue_number: number, ...text, ...closed });
}

/** Keep one open issue for a key: only its creation notifies; of duplicates the oldest stays. @throws client errors */
export async function upsertIssue(octokit: Octokit, target: IssueTarget, text: IssueText): Promise<IssueResult> {
  const { owner, repo } = target;
  const { title } = text;
  const body = bodyOf(target, text);
  const [kept, ...duplicates] = await openIssues(octokit, target);
  if (kept === undefined) {
    const { data } = await octokit.rest.issues.create({ owner, repo, title, body });
    return { action: "created", number: data.number, url: data.html_url };
  }
  for (const { number } of duplicates) await change(octokit, target, number, {}, true);
  const { number, url } = kept;
  if (kept.title === title && sameText(kept.body, body)) return { action: "unchanged", number, url };
  await change(octokit, target, number, { title, body }, false);
  return { action: "updated", number, url };
}

/** Close the open issue of a key, where there is one, with a last text. @throws client errors; the caller degrades */
export async function closeIssue(octokit: Octokit, target: IssueTarget, text: IssueText): Promise<IssueResult> {
  const open = await openIssues(octokit, target);
  const last = { title: text.title, body: bodyOf(target, text) };
  for (const { number } of open) await change(octokit, target, number, last, true);
  const first = open[0];
  return first === undefined ? { action: "none" } : { action: "closed", number: first.number, url: first.url };
}
