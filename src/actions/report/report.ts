import { ExitCode } from "../../core/exit-codes.ts";
import type { Environment } from "../../core/process/environment.ts";
import { plural } from "../../core/text.ts";
import { degradedWarning } from "../../github/api/degrade.ts";
import { commentWarning, upsertComment } from "../../github/comment/comment.ts";
import { imageRef } from "../../github/comment/image-ref.ts";
import { keepSectionComment } from "../../github/comment/section-comment.ts";
import { eventField, eventNumber, eventOf, readPullRequest } from "../../github/pull-request/pull-request.ts";
import { openGitData } from "../../github/repository/git-data-client.ts";
import type { Verdict } from "../../report/model/gate-report.ts";
import { verdictOfSections } from "../../report/model/section.ts";
import { type Input, publishingInputs, wholeInput } from "../input-values.ts";
import type { SubAction } from "../sub-action.ts";
import { callsItselfAccepted, type Ground, type HeldClaims, holdClaims } from "./claims.ts";
import { doubtNotes, recordNotes } from "./notes.ts";
import { type FoundPullRequest, openSource, type ReportSource } from "./source.ts";

/** What matters of the triggering event, which the runner wrote from GitHub's data: no code of a change touched it. */
interface ReportEvent {
  /** The finished run that a `workflow_run` event is about. */
  readonly workflowRunId: number | null;
  /** True for the event of a pull request that was closed. */
  readonly closed: boolean;
}

/** Read the event named by `GITHUB_EVENT_PATH`; a missing or broken file contains nothing. */
export function readReportEvent(env: Environment): ReportEvent {
  const payload = eventOf(env);
  const about = env.GITHUB_EVENT_NAME ?? "";
  return {
    workflowRunId: about === "workflow_run" ? eventNumber(payload, "workflow_run", "id") : null,
    closed: /^pull_request(_target)?$/.test(about) && eventField(payload, "action") === "closed",
  };
}

/** Inputs of `report/action.yml`, checked. It never passes what the gate failed. */
type ReportSettings = ReturnType<typeof reportSettings>;

/** @throws GateError INPUT_INVALID (usage) */
export function reportSettings(input: Input) {
  return {
    ...publishingInputs(input, "never"),
    /** The run to report; null = that of the event, else this one. */
    runId: wholeInput(input, "run-id", 1, Number.MAX_SAFE_INTEGER),
  } as const;
}

/** The outcome of the step. */
interface StepOutcome {
  /** Null when the run left no section that could be trusted. */
  readonly verdict: Verdict | null;
  /** False when GitHub recorded a failure, whatever the sections contain. */
  readonly succeeded: boolean;
}

/** What a reader has where this step fails. */
const ELSEWHERE = "The verdict is the result of the gate's job. Its summary and artifact have the details.";

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
    const permission = settings.runId === null && event.workflowRunId === null ? null : "actions: read";
    const attempt = { what: "read the sections of the run", permission, instead: ELSEWHERE };
    action.warn(degradedWarning(attempt, error));
    return settings.verdictFails ? ExitCode.error : ExitCode.pass;
  }
}

function exitCode({ verdict, succeeded }: StepOutcome): number {
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
    await openGitData(octokit, context).deleteRef(ref);
    log(`Pull request ${pullRequest.number} is closed: removed ${ref}`);
  } catch (error) {
    const instead = "The nightly refresh removes the pictures of closed pull requests.";
    warn(degradedWarning({ what: `remove ${ref}`, permission: "contents: write", instead }, error));
  }
}

async function post(action: SubAction, settings: ReportSettings, event: ReportEvent): Promise<StepOutcome> {
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
  try {
    const comment = {
      octokit: action.octokit,
      gitData: openGitData(action.octokit, context),
      context,
      pullRequest,
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
    };
    const url = await (verdict === null
      ? upsertMissingComment(action, settings.gateId, source, pullRequest)
      : keepSectionComment(comment, warn));
    if (url !== null) setOutput("comment-url", url);
  } catch (error) {
    if (action.signal.aborted) throw action.signal.reason;
    warn(commentWarning(error, ELSEWHERE));
  }
  return answer;
}

function notesOf({ record, reader }: ReportSource, held: HeldClaims): readonly string[] {
  return [
    ...recordNotes(record, verdictOfSections(held.sections, null).verdict),
    ...doubtNotes({ ...held, refused: reader.refused() }),
  ];
}

/** Runs that were skipped leave nothing, and nothing is reported. */
const QUIET: readonly (string | null)[] = ["skipped", "action_required", "stale", "neutral"];

/** Comment that a run left no section: an older commit's verdict must not seem to hold. Returns the page, or null. */
async function upsertMissingComment(
  { octokit, context, log }: SubAction,
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
  const result = await upsertComment(octokit, target, text);
  return "url" in result ? result.url : null;
}
