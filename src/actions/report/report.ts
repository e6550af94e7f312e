import { ExitCode } from "../../core/exit-codes.ts";
import { degradedWarning } from "../../github/api/degrade.ts";
import { imageRef } from "../../github/comment/image-ref.ts";
import { upsertSectionComment } from "../../github/comment/section-comment.ts";
import { readPullRequest } from "../../github/pull-request/pull-request.ts";
import { openGitData } from "../../github/repository/git-data-client.ts";
import type { Verdict } from "../../report/model/gate-report.ts";
import { verdictOfSections } from "../../report/model/section-verdict.ts";
import type { SubAction } from "../sub-action.ts";
import { callsItselfAccepted, type Ground, type HeldClaims, holdClaims } from "./claims.ts";
import { type ReportEvent, readReportEvent } from "./event.ts";
import { upsertMissingComment } from "./missing.ts";
import { doubtNotes, recordNotes } from "./notes.ts";
import { type ReportSettings, reportSettings } from "./settings.ts";
import { openSource, type ReportSource } from "./source.ts";

/** The outcome of the step. */
interface Answer {
  /** Null when the run left no section that could be trusted. */
  readonly verdict: Verdict | null;
  /** False when GitHub recorded a failure, whatever the sections contain. */
  readonly succeeded: boolean;
}

/** Post the report of a gate's jobs, in the same run or in `workflow_run` after a fork's. Runs no changed code. */
export async function report(action: SubAction): Promise<number> {
  const settings = reportSettings(action.input);
  const event = readReportEvent(action.env);
  for (const name of ["verdict", "comment-url", "pull-request"]) action.setOutput(name, "");
  if (event.closed) {
    await forgetImages(action);
    return ExitCode.pass;
  }
  try {
    const answer = await post(action, settings, event);
    return settings.verdictFails ? exitCode(answer) : ExitCode.pass;
  } catch (error) {
    if (action.signal.aborted) throw action.signal.reason;
    action.warn(
      degradedWarning(
        {
          what: "read the sections of the run",
          permission: settings.runId === null && event.workflowRunId === null ? null : "actions: read",
          instead: "The verdict is the result of the gate's job. Its summary and artifact have the details.",
        },
        error,
      ),
    );
    return settings.verdictFails ? ExitCode.error : ExitCode.pass;
  }
}

function exitCode({ verdict, succeeded }: Answer): number {
  if (verdict === null) return ExitCode.unjudged;
  if (verdict === "fail") return ExitCode.gateFailed;
  return verdict === "error" || !succeeded ? ExitCode.error : ExitCode.pass;
}

/** Pictures of a closed pull request are removed; the refresh removes those that are missed here. */
async function forgetImages({ octokit, context, env, log, warn, setOutput }: SubAction): Promise<void> {
  const pullRequest = readPullRequest(env);
  if (pullRequest === null) return;
  setOutput("pull-request", String(pullRequest.number));
  const ref = imageRef(pullRequest.number);
  try {
    await openGitData(octokit, { owner: context.owner, repo: context.repo }).deleteRef(ref);
    log(`Pull request ${pullRequest.number} is closed: removed ${ref}`);
  } catch (error) {
    const instead = "The nightly refresh removes the pictures of closed pull requests.";
    warn(degradedWarning({ what: `remove ${ref}`, permission: "contents: write", instead }, error));
  }
}

async function post(action: SubAction, settings: ReportSettings, event: ReportEvent): Promise<Answer> {
  const { context, log, warn, setOutput } = action;
  const runId = settings.runId ?? event.workflowRunId ?? context.runId;
  const source = await openSource(action, settings.gateId, runId);
  const { pullRequest, record } = source;
  const { untrusted } = record;
  const headSha = pullRequest.kind === "found" ? pullRequest.headSha : null;
  let live: Ground["live"] | undefined;
  const read = async (): Promise<HeldClaims> => {
    const sections = await source.reader.read();
    if (live === undefined && pullRequest.kind === "found" && callsItselfAccepted(sections)) {
      live = await source.acceptances(pullRequest);
    }
    return holdClaims(sections, { live: live ?? null, headSha, untrusted });
  };
  let held = await read();
  for (const line of source.reader.refused()) log(`Not trusted: ${line}`);
  // A refused section may be that of the failed leg: it counts as a missing leg, which is never a pass.
  const refused = source.reader.refused().length;
  const expected = refused === 0 ? null : held.sections.length + refused;
  const verdict = held.sections.length === 0 ? null : verdictOfSections(held.sections, expected).verdict;
  setOutput("verdict", verdict ?? "");
  const answer = { verdict, succeeded: record.conclusion === null || record.conclusion === "success" };

  if (pullRequest.kind === "none") {
    const line = `No comment was written: ${pullRequest.reason}`;
    if (pullRequest.odd) warn(line);
    else log(line);
    return answer;
  }
  setOutput("pull-request", String(pullRequest.number));
  if (!settings.comment) return answer;
  if (verdict === null) {
    const url = await upsertMissingComment(action, settings.gateId, source, pullRequest);
    if (url !== null) setOutput("comment-url", url);
    return answer;
  }
  const { owner, repo } = context;
  try {
    const result = await upsertSectionComment({
      octokit: action.octokit,
      gitData: settings.image === "none" ? null : openGitData(action.octokit, { owner, repo }),
      context: { serverUrl: context.serverUrl, owner, repo },
      pullRequest: { number: pullRequest.number, headSha: pullRequest.headSha },
      gateId: settings.gateId,
      sections: async () => {
        held = await read();
        return held.sections;
      },
      runId,
      image: settings.image,
      expected,
      notes: () => notesOf(source, held),
      log,
    });
    for (const warning of result.warnings) warn(warning);
    if (result.action === "failed") warn(result.warning);
    else if (result.action === "outdated") log("The pull request has a newer commit; its own run keeps the comment.");
    else {
      log(`Pull request comment ${result.action}: ${result.url}`);
      setOutput("comment-url", result.url);
    }
  } catch (error) {
    if (action.signal.aborted) throw action.signal.reason;
    warn(commentProblem(error));
  }
  return answer;
}

function commentProblem(error: unknown): string {
  const instead = "The verdict is the result of the gate's job. Its summary and artifact have the details.";
  return degradedWarning(
    { what: "update the pull request comment", permission: "pull-requests: write", instead },
    error,
  );
}

function notesOf({ record, reader }: ReportSource, held: HeldClaims): readonly string[] {
  const { unaccepted, embellished, sections } = held;
  return [
    ...recordNotes(record, verdictOfSections(sections, null).verdict),
    ...doubtNotes({ refused: reader.refused(), unaccepted, embellished }),
  ];
}
