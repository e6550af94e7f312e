import type { Octokit } from "../api/octokit.ts";
import { markerKey, OwnAuthor, sameText } from "../api/own-texts.ts";
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

class KeptIssue {
  readonly #octokit: Octokit;
  readonly #target: IssueTarget;
  readonly #marker: string;
  readonly #us: OwnAuthor;

  constructor(octokit: Octokit, target: IssueTarget) {
    this.#octokit = octokit;
    this.#target = target;
    this.#marker = issueMarker(target.key);
    this.#us = new OwnAuthor(octokit);
  }

  /** Our open issues of this key, the oldest first. A marker can be pasted by anyone, so the author has to be us. */
  async find(): Promise<readonly ExistingIssue[]> {
    const { owner, repo } = this.#target;
    const found: ExistingIssue[] = [];
    let pages = 0;
    const listing = this.#octokit.paginate.iterator(this.#octokit.rest.issues.listForRepo, {
      owner,
      repo,
      state: "open",
      sort: "created",
      direction: "desc",
      per_page: 100,
    });
    for await (const { data } of listing) {
      for (const { number, title, body, user, html_url, pull_request } of data) {
        if (pull_request !== undefined || body?.split(/\r?\n/, 1)[0]?.trimEnd() !== this.#marker) continue;
        if (await this.#us.is(user?.login ?? "")) found.push({ number, title, body, url: html_url });
      }
      pages += 1;
      // Open issues that are looked through, in pages of 100: a repository with more has ours among the newest.
      if (pages >= 10) break;
    }
    return found.sort((a, b) => a.number - b.number);
  }

  bodyOf({ body }: IssueText): string {
    // GitHub's documented limit of 65,536 characters, less room for the marker.
    return `${this.#marker}\n${body}`.slice(0, 60_000);
  }

  async create(text: IssueText): Promise<ExistingIssue> {
    const { owner, repo } = this.#target;
    const body = this.bodyOf(text);
    const { data } = await this.#octokit.rest.issues.create({ owner, repo, title: text.title, body });
    return { number: data.number, title: text.title, body, url: data.html_url };
  }

  async change(
    number: number,
    change: { readonly title?: string; readonly body?: string; readonly close?: true },
  ): Promise<void> {
    const { owner, repo } = this.#target;
    const { close, ...text } = change;
    await this.#octokit.rest.issues.update({
      owner,
      repo,
      issue_number: number,
      ...text,
      ...(close === true ? { state: "closed", state_reason: "completed" } : {}),
    });
  }
}

/** Keep one open issue for a key: only its creation notifies; of duplicates the oldest stays. @throws client errors */
export async function upsertIssue(octokit: Octokit, target: IssueTarget, text: IssueText): Promise<IssueResult> {
  const issues = new KeptIssue(octokit, target);
  const body = issues.bodyOf(text);
  const [kept, ...duplicates] = await issues.find();
  if (kept === undefined) {
    const { number, url } = await issues.create(text);
    return { action: "created", number, url };
  }
  for (const { number } of duplicates) await issues.change(number, { close: true });
  const { number, url } = kept;
  if (kept.title === text.title && sameText(kept.body, body)) return { action: "unchanged", number, url };
  await issues.change(number, { title: text.title, body });
  return { action: "updated", number, url };
}

/** Close the open issue of a key, where there is one, with a last text. @throws client errors; the caller degrades */
export async function closeIssue(octokit: Octokit, target: IssueTarget, text: IssueText): Promise<IssueResult> {
  const issues = new KeptIssue(octokit, target);
  const open = await issues.find();
  for (const { number } of open)
    await issues.change(number, { title: text.title, body: issues.bodyOf(text), close: true });
  const first = open[0];
  return first === undefined ? { action: "none" } : { action: "closed", number: first.number, url: first.url };
}
