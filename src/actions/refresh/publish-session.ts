import path from "node:path";
import { withEpoch } from "../../attribution/peak/stored-peak.ts";
import { parseBaselineRecord } from "../../baseline/record.ts";
import { pruneRecord, serializeRecord } from "../../baseline/record-size.ts";
import { peakName, recordName } from "../../baseline/store.ts";
import type { RepositoryView } from "../../git/repository-view.ts";
import {
  type Proposal,
  type ProposedFile,
  pullRequestsRefused,
  type ReadFile,
  upsertProposal,
} from "../../github/repository/anchor-pull-request.ts";
import { closeIssue, upsertIssue } from "../../github/repository/issue-upsert.ts";
import type { NightlyRun } from "../../nightly/nightly-run.ts";
import type { NightlyEntry } from "../../nightly/state.ts";
import { md } from "../../report/markdown/markdown-text.ts";
import { attempted } from "../attempted.ts";
import { anchorIssue, anchorMoves, anchorProposal } from "./anchor-proposal.ts";
import { closedIssueText, type IssueContext, isReported, openIssueText } from "./issue-text.ts";
import type { CompletedSession, Refresh } from "./measure-session.ts";
import { joinedBaseline, nightsOf, nightTable, sessionOutcomeText } from "./session-text.ts";
import { keyName } from "./settings.ts";

/** Maximum time to write an issue or a pull request, in several requests a second apart, milliseconds. */
const DEADLINE_MS = 60_000;

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
      ? await upsertIssue(octokit, target, openIssueText(nightly.scenarios, context))
      : await closeIssue(octokit, target, closedIssueText(nightly.scenarios, context));
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
      const issue = await upsertIssue(octokit, target, anchorIssue(proposal, moves, nights));
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

/** Directory of a `file:` store as a path within the repository; null when it lies outside. */
function storeDirectory({ checkout }: RepositoryView, baseline: string): string | null {
  if (checkout.problem !== null) return null;
  const directory = path.posix.normalize(`${checkout.prefix}${baseline.slice("file:".length)}`).replace(/\/$/, "");
  return directory.startsWith("..") || path.posix.isAbsolute(directory) ? null : directory;
}

/**
 * A pull request with the new sessions of a `file:` store. It builds on the earlier commits of its branch, so that a
 * request that waits for a week contains a week of sessions.
 * @returns null when nothing was stored, or the store lies outside the repository
 */
async function recordsProposal(
  { repository, settings, defaultBranch: base }: Refresh,
  { nightly, compositions }: CompletedSession,
  nights: readonly NightlyEntry[],
): Promise<Proposal | null> {
  const directory = storeDirectory(repository, settings.baseline);
  const changed = nightly.scenarios.flatMap(({ change, report }) => {
    const name = recordName(report.scenario, report.fingerprint);
    return change === null ? [] : [{ change, name, composition: compositions.get(report.scenario) ?? null }];
  });
  if (directory === null || changed.length === 0) return null;
  const files = async (read: ReadFile): Promise<readonly ProposedFile[]> => {
    const proposed = changed.map(async ({ change, name, composition }): Promise<ProposedFile[]> => {
      const file = `${directory}/${name}`;
      const text = await read(file);
      const record = pruneRecord(change(text === null ? null : parseBaselineRecord(JSON.parse(text), file)));
      // The branch may have sessions that the working tree lacks, and so another epoch.
      const peak = composition && withEpoch(composition, record.epochs.at(-1)?.opened ?? "");
      const beside = peak === null ? [] : [{ path: peakName(file), content: peak }];
      return [{ path: file, content: serializeRecord(record) }, ...beside];
    });
    return (await Promise.all(proposed)).flat();
  };
  const title = `Memory baselines of the main branch${settings.key === "default" ? "" : ` (${settings.key})`}`;
  const parts = nightly.scenarios.flatMap(({ report, sessionOutcome, entry }) => [
    `### ${md(report.scenario, 80)}`,
    "",
    `Verdict **${report.verdict}**; the session ${md(sessionOutcomeText(sessionOutcome), 300)}.`,
    "",
    nightTable(nightsOf(nights, entry)),
    "",
  ]);
  return {
    branch: `stormlog/baselines-${keyName(settings.key)}`,
    base,
    title,
    message: title,
    body: [
      "Sessions that the nightly run measured. Later sessions are added until this is merged.",
      "GitHub starts no checks for a pull request that a job has opened: close it and open it again to start them.",
      "",
      ...parts,
    ].join("\n"),
    files,
  };
}
