import { plural } from "../../core/text.ts";
import { stickyComment } from "../../github/comment/comment.ts";
import type { SubAction } from "../sub-action.ts";
import type { FoundPullRequest, ReportSource } from "./source.ts";

/** Runs that were skipped leave nothing, and nothing is reported. */
const QUIET: readonly (string | null)[] = ["skipped", "action_required", "stale", "neutral"];

/** Comment that a run left no section: an older commit's verdict must not seem to hold. Returns the page, or null. */
export async function upsertMissingComment(
  { octokit, context, log, warn }: SubAction,
  gateId: string,
  { record, reader }: ReportSource,
  pullRequest: FoundPullRequest,
): Promise<string | null> {
  if (QUIET.includes(record.conclusion)) {
    log("The run measured nothing and reported so; no comment is written.");
    return null;
  }
  const { owner, repo, serverUrl } = context;
  const refused = reader.refused().length;
  const why =
    refused === 0
      ? "The run left no measurements"
      : `${plural(refused, "artifact")} of the run looked like measurements and could not be trusted`;
  const recorded =
    record.conclusion === null ? "" : ` GitHub recorded it as ${record.conclusion.replace(/[^a-z]/g, " ")}.`;
  const run = `[the run](${serverUrl}/${owner}/${repo}/actions/runs/${record.runId})`;
  const text = `### ❔ Memory: unjudged\n\n**${why}.**${recorded} See the log of ${run}.\n`;
  const target = { owner, repo, pullRequest: pullRequest.number, headSha: pullRequest.headSha, key: gateId };
  const result = await stickyComment(octokit, target, text);
  if (result.action === "failed") warn(result.warning);
  return "url" in result ? result.url : null;
}
