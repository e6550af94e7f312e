import type { Acceptance, Acceptances, AcceptanceWay, RefusedAcceptance } from "../../verdict/model/acceptance.ts";
import { degradedWarning, unlessMissing } from "../api/degrade.ts";
import type { Octokit } from "../api/octokit.ts";
import type { Repository } from "../api/run-context.ts";
import { readCommentPages } from "./comment-pages.ts";
import { type Account, type RepositoryClient, writePermission } from "./permission.ts";
import { commandsOf, descriptionLinesOf, type ReadLine, trailersOf } from "./trailers.ts";

/** The label that makes lines of a pull request's description count. */
export const ACCEPT_LABEL = "stormlog-accept";

/** A text that accepts differences, with GitHub's data about its author. */
interface Statement {
  readonly via: AcceptanceWay;
  readonly by: Account | null;
  readonly lines: readonly ReadLine[];
  readonly atIso: string | null;
  readonly url: string | null;
  /** Commit it is bound to when its line names none. */
  readonly headSha: string | null;
  /** Why it does not count, known before permissions are read; null = nothing excludes it. */
  readonly objection: string | null;
}

type PullRequestData = Awaited<ReturnType<Octokit["rest"]["pulls"]["get"]>>["data"];

/** The comment as it is now; what it accepts is not looked at here. */
export interface ReadComment {
  readonly node_id: string;
  readonly body?: string | undefined;
  readonly user: Account | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly html_url: string;
}

/** Reads acceptances of one pull request live, because the event of a workflow run may be outdated. */
class AcceptanceReader {
  readonly #repository: RepositoryClient;
  readonly #number: number;
  readonly #permission: ReturnType<typeof writePermission>;

  constructor(repository: RepositoryClient, number: number) {
    this.#repository = repository;
    this.#number = number;
    this.#permission = writePermission(repository);
  }

  async comments(): Promise<readonly Statement[]> {
    const { octokit, owner, repo } = this.#repository;
    const { kept } = await readCommentPages(octokit, { owner, repo, pullRequest: this.#number }, (comments) =>
      comments.filter(({ body }) => commandsOf(body ?? "").length > 0),
    );
    return Promise.all(kept.map((comment) => this.statement(comment)));
  }

  async statement(comment: ReadComment): Promise<Statement> {
    const lines = commandsOf(comment.body ?? "");
    return {
      via: "comment",
      by: comment.user,
      lines,
      atIso: comment.created_at,
      url: comment.html_url,
      headSha: null,
      objection: lines.length === 0 ? null : await this.#edited(comment),
    };
  }

  /** Objection to an edited comment: what counts is its text as of its creation, which GitHub no longer has. */
  async #edited(comment: ReadComment): Promise<string | null> {
    // Reactions and moderation change this time as well.
    if (comment.updated_at === comment.created_at) return null;
    const answer = await this.#repository.octokit.graphql<{ node: { lastEditedAt: string | null } | null }>(
      "query ($id: ID!) { node(id: $id) { ... on IssueComment { lastEditedAt } } }",
      { id: comment.node_id },
    );
    if (answer.node !== null && answer.node.lastEditedAt === null) return null;
    return "the comment was edited after it was written; write a new one";
  }

  /** The label's last setter accepts, the description names the differences: that account answers for its content. */
  async label(pull: PullRequestData): Promise<readonly Statement[]> {
    const lines = descriptionLinesOf(pull.body ?? "");
    const set = pull.labels.some(({ name }) => name === ACCEPT_LABEL);
    if (!set || lines.length === 0) {
      if (!set && lines.length === 0) return [];
      const why = set
        ? `the label is set, but the description has no line \`${ACCEPT_LABEL}: <difference> <reason>\``
        : `the description accepts it, but the label \`${ACCEPT_LABEL}\` is not set`;
      const kept: readonly ReadLine[] = set ? [{ kind: "malformed", difference: "", why }] : lines;
      return [{ via: "label", by: null, lines: kept, atIso: null, url: pull.html_url, headSha: null, objection: why }];
    }
    const event = await this.#labelled();
    const edited = await this.#descriptionEdited();
    const atIso = event?.created_at ?? null;
    // Both times are whole seconds, so an edit in the label's own second may have come after it.
    const late = edited !== null && !(atIso !== null && Date.parse(edited) < Date.parse(atIso));
    return [
      {
        via: "label",
        by: event?.actor ?? null,
        lines,
        atIso,
        url: pull.html_url,
        headSha: null,
        objection: late
          ? "the description was edited in the second in which the label was set, or later; set the label again"
          : null,
      },
    ];
  }

  /** The newest event that set the label. */
  async #labelled() {
    const { octokit, owner, repo } = this.#repository;
    const events = await octokit.paginate(octokit.rest.issues.listEvents, {
      owner,
      repo,
      issue_number: this.#number,
      per_page: 100,
    });
    return events.findLast(
      (event) => event.event === "labeled" && "label" in event && event.label?.name === ACCEPT_LABEL,
    );
  }

  /** When the description was last edited, ISO 8601; null = never. Only GraphQL reports it. */
  async #descriptionEdited(): Promise<string | null> {
    const { octokit, owner, repo } = this.#repository;
    const answer = await octokit.graphql<{ repository: { pullRequest: { lastEditedAt: string | null } } }>(
      "query ($owner: String!, $repo: String!, $number: Int!) { repository(owner: $owner, name: $repo) { pullRequest(number: $number) { lastEditedAt } } }",
      { owner, repo, number: this.#number },
    );
    return answer.repository.pullRequest.lastEditedAt;
  }

  /**
   * Trailers of the pull request's commits. A commit can carry any address as its author, so of a branch that not only
   * people with write permission can push to, a commit counts when its author signed it, or GitHub did for them. Anyone
   * can build on a signed commit of another pull request: there it counts when its trailer names this one, or when its
   * author opened this one and no merge brought it in.
   */
  async trailers(pull: PullRequestData): Promise<readonly Statement[]> {
    const { octokit, owner, repo } = this.#repository;
    const commits = await octokit.paginate(octokit.rest.pulls.listCommits, {
      owner,
      repo,
      pull_number: this.#number,
      per_page: 100,
    });
    // A deleted fork has no repository any more.
    const head = pull.head.repo as typeof pull.head.repo | null;
    const own = head !== null && head.full_name.toLowerCase() === pull.base.repo.full_name.toLowerCase();
    const mergedIn = broughtByMerges(commits);
    return commits.flatMap(({ sha, commit, author, committer, html_url }) => {
      const account = author !== null && "login" in author ? (author as Account) : null;
      const signer = committer !== null && "login" in committer ? (committer as Account).login : null;
      const signed = commit.verification?.verified === true && (signer === account?.login || signer === "web-flow");
      const opened = account !== null && account.login === pull.user?.login;
      const objectionTo = (line: ReadLine): string | null => {
        if (!own && !signed)
          return "the commit comes from a fork and is not signed by its author, whose identity is unverified";
        if (namedPullRequest(line) === this.#number || (!mergedIn.has(sha) && (own || opened))) return null;
        return `the commit was not made for this pull request; a trailer can name it, as in \`Stormlog-Accept: <difference> #${this.#number} <reason>\``;
      };
      return trailersOf(commit.message).map((line): Statement => {
        const atIso = commit.committer?.date ?? null;
        return {
          via: "trailer",
          by: account,
          lines: [line],
          atIso,
          url: html_url,
          headSha: sha,
          objection: objectionTo(line),
        };
      });
    });
  }

  async pull(): Promise<PullRequestData> {
    const { octokit, owner, repo } = this.#repository;
    return (await octokit.rest.pulls.get({ owner, repo, pull_number: this.#number })).data;
  }

  /** Ask who may accept, and sort what was stated. @throws what the client throws */
  async weigh(statement: Statement): Promise<Pick<Acceptances, "accepted" | "refused">> {
    const { by, via, url, lines } = statement;
    if (lines.length === 0) return { accepted: [], refused: [] };
    const permission =
      statement.objection === null ? await this.#permission(by) : { allowed: false as const, why: statement.objection };
    const accepted: Acceptance[] = [];
    const refused: RefusedAcceptance[] = [];
    for (const line of lines) {
      const difference = line.kind === "acceptance" ? line.line.difference : line.difference;
      const refuse = (why: string) => refused.push({ difference, by: by?.login ?? null, via, url, why });
      if (!permission.allowed) refuse(permission.why);
      else if (line.kind === "malformed") refuse(line.why);
      else {
        accepted.push({
          difference,
          by: by?.login ?? "",
          reason: line.line.reason,
          via,
          at_iso: statement.atIso,
          head_sha: line.line.headSha ?? statement.headSha,
          url,
        });
      }
    }
    return { accepted, refused };
  }
}

/** The pull request that an acceptance's reason begins with, as in "#12 larger cache". */
function namedPullRequest(read: ReadLine): number | null {
  const number = read.kind === "acceptance" ? /^#(\d{1,9})\b/.exec(read.line.reason)?.[1] : undefined;
  return number === undefined ? null : Number(number);
}

interface ListedCommit {
  readonly sha: string;
  readonly parents: readonly { readonly sha: string }[];
}

/** Commits that reached a branch through the later parents of its merges, and not as its own history. */
function broughtByMerges(commits: readonly ListedCommit[]): ReadonlySet<string> {
  const parentsOf = new Map(commits.map(({ sha, parents }) => [sha, parents.map((parent) => parent.sha)]));
  const found = new Set<string>();
  const open = [...parentsOf.values()].flatMap(([, ...later]) => later);
  for (let sha = open.pop(); sha !== undefined; sha = open.pop()) {
    const parents = parentsOf.get(sha);
    if (parents === undefined || found.has(sha)) continue;
    found.add(sha);
    open.push(...parents);
  }
  return found;
}

function cannotRead(error: unknown): string {
  return degradedWarning(
    {
      what: "read everything that people accepted of this pull request",
      permission: "pull-requests: read",
      instead: "Acceptances that could not be read were not applied. Re-run the job.",
    },
    error,
  );
}

/**
 * What people accepted of a pull request, asked of GitHub now: comments, the label with its lines in the description,
 * trailers of its commits, each with the permission of its author. Never throws: what cannot be read becomes one
 * warning, and the rest counts.
 */
export async function readAcceptances(repository: RepositoryClient, pullRequest: number): Promise<Acceptances> {
  const reader = new AcceptanceReader(repository, pullRequest);
  const pull = reader.pull();
  const sources = await Promise.allSettled([
    reader.comments(),
    pull.then((data) => reader.label(data)),
    pull.then((data) => reader.trailers(data)),
  ]);
  const statements = sources.flatMap((source) => (source.status === "fulfilled" ? source.value : []));
  const weighed = await Promise.allSettled(statements.map((statement) => reader.weigh(statement)));
  const failures = [...sources, ...weighed].flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  const known = weighed.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  return {
    accepted: known.flatMap(({ accepted }) => accepted),
    refused: known.flatMap(({ refused }) => refused),
    warnings: failures.slice(0, 1).map(cannotRead),
  };
}

/** What one comment, as it is now, accepts. @throws what the client throws */
export async function readComment(
  repository: RepositoryClient,
  pullRequest: number,
  comment: ReadComment,
): Promise<Pick<Acceptances, "accepted" | "refused">> {
  const reader = new AcceptanceReader(repository, pullRequest);
  return reader.weigh(await reader.statement(comment));
}

/** What was accepted of a pull request that is now part of the main branch. */
export interface AcceptedOnMain {
  readonly pullRequest: number;
  /** Page of the pull request. */
  readonly url: string;
  readonly acceptance: Acceptance;
}

async function commitsSince(
  repository: RepositoryClient,
  since: string | null,
  commit: string,
): Promise<readonly string[]> {
  if (since === null || since === commit) return [commit];
  const { octokit, owner, repo } = repository;
  const basehead = `${since}...${commit}`;
  // After a force push the baseline's commit may be gone.
  const answer = await unlessMissing(octokit.rest.repos.compareCommitsWithBasehead({ owner, repo, basehead }));
  const between = answer?.data.commits.map(({ sha }) => sha).filter((sha) => sha !== commit) ?? [];
  return [commit, ...between.reverse()].slice(0, 100);
}

/**
 * Acceptances in the pull requests by which commits reached the main branch: of `commit` alone, or of every commit
 * since `since` (the newest commit the baseline knows; at most 100 are looked at, the newest first). Read live: only a
 * merged pull request counts, and only of accounts that may write now. Compare a nightly breach with it by
 * `covers(acceptance, difference)` of `verdict/difference.ts`.
 * @throws what the client throws; the caller degrades
 */
export async function acceptedOnMain(
  octokit: Octokit,
  { owner, repo }: Repository,
  commit: string,
  since: string | null = null,
): Promise<readonly AcceptedOnMain[]> {
  const repository: RepositoryClient = { octokit, owner, repo };
  const merged = new Map<number, { readonly url: string; readonly headSha: string }>();
  for (const sha of await commitsSince(repository, since, commit)) {
    const { data } = await octokit.rest.repos.listPullRequestsAssociatedWithCommit({ owner, repo, commit_sha: sha });
    for (const { number, html_url, merged_at, head } of data) {
      if (merged_at !== null) merged.set(number, { url: html_url, headSha: head.sha });
    }
  }
  const found: AcceptedOnMain[] = [];
  for (const [pullRequest, { url, headSha }] of merged) {
    const { accepted, warnings } = await readAcceptances(repository, pullRequest);
    // An unreadable acceptance would fail the nightly run for an intended change: the caller reports it.
    if (warnings[0] !== undefined && accepted.length === 0) throw new Error(warnings[0]);
    for (const acceptance of accepted) {
      const named = acceptance.via === "comment" ? acceptance.head_sha : null;
      // A comment for one commit holds only where that commit is the one that was merged.
      if (named === null || headSha.startsWith(named)) found.push({ pullRequest, url, acceptance });
    }
  }
  return found;
}
