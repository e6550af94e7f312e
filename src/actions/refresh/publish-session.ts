import { pullRequestsRefused, upsertProposal } from "../../github/repository/anchor-pull-request.ts";
import { closeIssue, type IssueText, upsertIssue } from "../../github/repository/issue-upsert.ts";
import type { NightlyRun } from "../../nightly/nightly-run.ts";
import type { NightlyEntry } from "../../nightly/state.ts";
import { attempted } from "../attempted.ts";
import { anchorIssue, anchorMoves, anchorProposal } from "./anchor-proposal.ts";
import { closedIssueText, type IssueContext, isReported, openIssueText } from "./issue-text.ts";
import type { CompletedSession, Refresh } from "./measure-session.ts";
import { recordsProposal } from "./records-proposal.ts";
import { joinedBaseline } from "./session-text.ts";

/** Maximum time to write an issue or a pull request, in several requests a second apart, milliseconds. */
const DEADLINE_MS = 60_000;
/** Maximum characters of an issue, below the limit at which GitHub cuts it. */
const MAX_TEXT = 58_000;

function bounded(text: IssueText): IssueText {
  return text.body.length <= MAX_TEXT ? text : { ...text, body: `${text.body.slice(0, MAX_TEXT)}\n\n…` };
}

/** Report what exceeds its limits in one issue, and close it once nothing does. @returns its page, or null */
export async function reportBreach(
  { action, settings }: Refresh,
  nightly: NightlyRun,
  context: IssueContext,
): Promise<string | null> {
  if (!settings.issue) return null;
  const { octokit, log } = action;
  const { owner, repo } = action.context;
  const target = { owner, repo, key: settings.key };
  const breached = nightly.scenarios.some(isReported);
  // A session that failed or could not be judged does not close the issue.
  const green = !breached && nightly.scenarios.length > 0 && nightly.scenarios.every(joinedBaseline);
  if (!breached && !green) return null;
  const attempt = {
    what: breached ? "keep the issue about the main branch" : "close the issue about the main branch",
    permission: "issues: write",
    instead: "The job summary shows its text.",
  };
  return attempted(action, DEADLINE_MS, attempt, async () => {
    const result = breached
      ? await upsertIssue(octokit, target, bounded(openIssueText(nightly.scenarios, context)))
      : await closeIssue(octokit, target, bounded(closedIssueText(nightly.scenarios, context)));
    if (result.action === "none") return null;
    log(`Issue ${result.action}: ${result.url}`);
    return result.url;
  });
}

/** Propose to move anchors: a pull request, or an issue where those are not allowed. @returns its page, or null */
export async function proposeAnchors(
  here: Refresh,
  nightly: NightlyRun,
  nights: readonly NightlyEntry[],
): Promise<string | null> {
  const { action, settings } = here;
  const { octokit, log } = action;
  const { owner, repo } = action.context;
  const moves = anchorMoves(here, nightly);
  if (moves.length === 0) return null;
  const proposal = anchorProposal(here, moves, nights);
  const attempt = {
    what: "propose the release anchor",
    permission: "contents: write, pull-requests: write",
    instead: "The anchor is unchanged. The next nightly run tries again.",
  };
  return attempted(action, 2 * DEADLINE_MS, attempt, async () => {
    try {
      const result = await upsertProposal(octokit, { owner, repo }, proposal);
      if (result.action === "nothing") return null;
      log(`Pull request with the release anchor ${result.action}: ${result.url}`);
      return result.url;
    } catch (error) {
      if (!pullRequestsRefused(error)) throw error;
      const target = { owner, repo, key: `${settings.key}.anchor` };
      const issue = await upsertIssue(octokit, target, bounded(anchorIssue(proposal, moves, nights)));
      if (issue.action === "none") return null;
      log(`Pull requests are not allowed here; issue with the release anchor ${issue.action}: ${issue.url}`);
      return issue.url;
    }
  });
}

/** Propose the new records of a `file:` store, where that is asked for. */
export async function proposeRecords(
  here: Refresh,
  measured: CompletedSession,
  nights: readonly NightlyEntry[],
): Promise<void> {
  const { action, settings } = here;
  if (settings.save !== "pull-request" || !settings.baseline.startsWith("file:")) return;
  const attempt = {
    what: "propose the baselines",
    permission: "contents: write, pull-requests: write",
    instead: "The records are in the working tree.",
  };
  await attempted(action, 2 * DEADLINE_MS, attempt, async () => {
    const proposal = await recordsProposal(here, measured, nights);
    if (proposal === null) return;
    const result = await upsertProposal(action.octokit, action.context, proposal);
    if (result.action !== "nothing") action.log(`Pull request with the baselines ${result.action}: ${result.url}`);
  });
}
