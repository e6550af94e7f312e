import { setTimeout as delay } from "node:timers/promises";
import { usageError } from "../../core/errors.ts";
import { escapeMarkdown, escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import type { Environment } from "../../core/process/environment.ts";
import { degradedWarning, unlessMissing } from "../../github/api/degrade.ts";
import { runSectionReader } from "../../github/artifacts/run-sections.ts";
import { upsertComment } from "../../github/comment/comment.ts";
import { type GateRun, hasFailedJob, newestGateRun, runFailedJobsAgain, sameRunNow } from "../../github/gate-run.ts";
import { ACCEPT_LABEL, readAcceptances, readComment } from "../../github/pull-request/acceptances.ts";
import { eventField, eventNumber, eventOf } from "../../github/pull-request/pull-request.ts";
import { recordedRun } from "../../github/pull-request/resolve-pull-request.ts";
import { commandsOf } from "../../github/pull-request/trailers.ts";
import { matchAcceptance } from "../../verdict/difference.ts";
import type { Acceptance, Acceptances, RefusedAcceptance } from "../../verdict/model/acceptance.ts";
import { gateIdInput, type Input, isAuto, wholeInput } from "../input-values.ts";
import type { SubAction } from "../sub-action.ts";

/** Inputs of `accept/action.yml`, checked. */
type AcceptSettings = ReturnType<typeof acceptSettings>;

/** @throws GateError INPUT_INVALID (usage) */
function acceptSettings(input: Input) {
  const gateId = gateIdInput(input);
  const workflow = input("workflow") ?? null;
  if (workflow !== null && !/^[A-Za-z0-9][A-Za-z0-9._ -]{0,199}$/.test(workflow)) {
    const hint = "It takes the name of a file in .github/workflows, or the number of a workflow.";
    throw usageError("INPUT_INVALID", `input workflow is "${workflow}"`, hint);
  }
  return {
    gateId,
    /** File name or id of the workflow whose failed jobs run again; null = the one that left evidence of this gate. */
    workflow,
    pullRequest: wholeInput(input, "pull-request", 1, 999_999_999),
    rerun: isAuto(input, "rerun"),
  } as const;
}

type Asked = Exclude<AcceptRequest, { kind: "none" }>;
type Weighed = Pick<Acceptances, "accepted" | "refused">;

/** Maximum reasons in one answer. */
const MAX_REPORTED = 5;

const repositoryOf = ({ octokit, context: { owner, repo } }: SubAction) => ({ octokit, owner, repo });

/** The acceptances that exist now; null when they are gone. @throws what the client throws */
async function weigh(action: SubAction, asked: Asked): Promise<Weighed | null> {
  const { octokit, warn } = action;
  const repository = repositoryOf(action);
  const { owner, repo } = repository;
  switch (asked.kind) {
    case "comment": {
      const found = await unlessMissing(octokit.rest.issues.getComment({ owner, repo, comment_id: asked.comment }));
      if (!found?.data.html_url.includes(`/pull/${asked.pullRequest}#`)) return null;
      return readComment(repository, asked.pullRequest, found.data);
    }
    case "label":
    case "by-hand": {
      const { accepted, refused, warnings } = await readAcceptances(repository, asked.pullRequest);
      for (const warning of warnings) warn(warning);
      const own = ({ via }: { readonly via: string }): boolean => asked.kind === "by-hand" || via === "label";
      return { accepted: accepted.filter(own), refused: refused.filter(own) };
    }
    default:
      return asked satisfies never;
  }
}

/** Differences that the gate's newest run reported; null when they cannot be read: then any may be accepted. */
async function differencesOf(
  action: SubAction,
  settings: AcceptSettings,
  run: GateRun | null,
): Promise<readonly string[] | null> {
  if (run === null || !run.finished) return null;
  const { octokit, context, signal, log } = action;
  try {
    const source = { ...repositoryOf(action), apiUrl: context.apiUrl, signal, runId: run.id };
    const recorded = await recordedRun(octokit, source, run.id);
    const sections = await runSectionReader(source, recorded, settings.gateId).read();
    if (sections.length === 0) return null;
    return sections.flatMap(({ report }) => [
      ...report.scenarios.flatMap(({ difference }) => difference ?? []),
      ...(report.policy_difference === undefined ? [] : [report.policy_difference]),
    ]);
  } catch (error) {
    log(degradedWarning({ what: "read what the gate found", permission: "actions: read", instead: "" }, error));
    return null;
  }
}

/** Why an acceptance does not match what the gate found; null when it does, or when that is unknown. */
function uselessReason(acceptance: Acceptance, differences: readonly string[] | null, headSha: string): string | null {
  const commit = acceptance.via === "comment" ? acceptance.head_sha : null;
  if (commit !== null && !headSha.startsWith(commit)) {
    return `it is for commit ${commit.slice(0, 12)}, and the pull request is at ${headSha.slice(0, 12)} now`;
  }
  if (differences === null) return null;
  const kinds = differences.map((token) => matchAcceptance(acceptance, { token }, headSha).kind);
  if (kinds.includes("covered")) return null;
  const open = [...new Set(differences)].slice(0, MAX_REPORTED).join(", ");
  if (kinds.includes("larger")) return `the difference is larger now: ${open}`;
  if (kinds.includes("more")) return `more fails now: ${open}`;
  return open === ""
    ? "the newest run of the gate has no difference that could be accepted"
    : `the newest run of the gate has another difference: ${open}`;
}

/** Log and answer: foreign text is escaped for the edge where it is read. */
function refusalLines(refused: readonly RefusedAcceptance[], shown: (text: string) => string): readonly string[] {
  return refused.slice(0, MAX_REPORTED).map(({ difference, by, why }) => {
    const what = difference === "" ? "This acceptance" : `The acceptance of ${shown(difference)}`;
    return `${what}${by === null ? "" : ` by ${shown(by)}`} does not count: ${shown(why)}.`;
  });
}

async function attempt<T>(
  action: SubAction,
  what: string,
  permission: string,
  act: () => Promise<T>,
  instead = "The acceptance itself is read from GitHub anyway.",
): Promise<T | null> {
  try {
    return await act();
  } catch (error) {
    action.warn(degradedWarning({ what, permission, instead }, error));
    return null;
  }
}

/** A reaction under the comment. A refused acceptance gets one reply, a refused label one comment that is updated. */
async function answer(action: SubAction, asked: Asked, refused: readonly RefusedAcceptance[]): Promise<void> {
  const { octokit, context } = action;
  const { owner, repo } = context;
  const text = refusalLines(refused, escapeMarkdown).join("\n\n");
  if (asked.kind === "by-hand") return;
  await attempt(action, "answer on the pull request", "pull-requests: write", async () => {
    if (asked.kind === "label") {
      if (refused.length === 0) return;
      const target = { owner, repo, pullRequest: asked.pullRequest, headSha: null, key: "accept" };
      await upsertComment(octokit, target, text);
      return;
    }
    const reaction = await octokit.rest.reactions.createForIssueComment({
      owner,
      repo,
      comment_id: asked.comment,
      content: refused.length === 0 ? "+1" : "confused",
    });
    // 200 instead of 201: this comment was answered before.
    if (refused.length === 0 || (reaction.status as number) === 200) return;
    await octokit.rest.issues.createComment({ owner, repo, issue_number: asked.pullRequest, body: text });
  });
}

/** How long a run is waited for, of which a job has failed and others are under way; milliseconds. */
export interface Patience {
  readonly pollMs: number;
  readonly maxMs: number;
}

/** Shorter than the job that `init` writes. */
const PATIENCE: Patience = { pollMs: 15_000, maxMs: 8 * 60_000 };

/** The run once its last job has ended, for only then can its failed jobs run again; null where that is not needed. */
async function ended(action: SubAction, run: GateRun, { pollMs, maxMs }: Patience): Promise<GateRun | null> {
  const { log, signal } = action;
  const repository = repositoryOf(action);
  if (run.finished) return run;
  if (!(await hasFailedJob(repository, run))) {
    log(`${run.url} is still under way; it reads the acceptance before it fails.`);
    return null;
  }
  log(`${run.url} has failed jobs and others under way, which are waited for.`);
  const until = performance.now() + maxMs;
  while (performance.now() < until) {
    await delay(pollMs, undefined, { signal });
    const now = await sameRunNow(repository, run);
    if (now.finished) return now;
  }
  action.warn(`${run.url} is still under way. The acceptance counts: re-run its failed jobs when it has ended.`);
  return null;
}

/** @returns the run that was re-run; null when none was */
async function runAgain(
  action: SubAction,
  settings: AcceptSettings,
  found: GateRun | null,
  patience: Patience,
): Promise<number | null> {
  const { log } = action;
  if (!settings.rerun) return null;
  if (found === null) {
    log("No run of the gate was found for this commit; its next run reads the acceptance.");
    return null;
  }
  const run = await attempt(action, "wait for the gate's run", "actions: write", () => ended(action, found, patience));
  if (run === null) return null;
  if (!run.failed) {
    log(`${run.url} did not fail, so nothing is re-run.`);
    return null;
  }
  return attempt(action, "re-run the failed jobs", "actions: write", async () => {
    await runFailedJobsAgain(repositoryOf(action), run);
    log(`Re-running the failed jobs of ${run.url}.`);
    return run.id;
  });
}

function findRun(action: SubAction, { gateId, workflow }: AcceptSettings, headSha: string): Promise<GateRun | null> {
  const { apiUrl, runId } = action.context;
  const asked = { ...repositoryOf(action), apiUrl, signal: action.signal, headSha, ownRun: runId, gateId, workflow };
  const instead = "The acceptance counts. Re-run the failed job by hand.";
  return attempt(action, "find the gate's run", "actions: write", () => newestGateRun(asked), instead);
}

/** Check an acceptance by comment, label or hand against GitHub, answer it, and re-run the check. */
export async function accept(action: SubAction, patience: Patience = PATIENCE): Promise<number> {
  const { octokit, context, log, setOutput } = action;
  const settings = acceptSettings(action.input);
  const asked = readAcceptRequest(action.env, settings.pullRequest);
  if (asked.kind === "none") {
    log(`Nothing to do: ${asked.reason}.`);
    setOutput("accepted", "false");
    return ExitCode.pass;
  }
  const weighed = await weigh(action, asked);
  if (weighed === null || weighed.accepted.length + weighed.refused.length === 0) {
    log("Nothing to do: the acceptance no longer exists.");
    setOutput("accepted", "false");
    return ExitCode.pass;
  }
  const { owner, repo } = context;
  const { data: pull } = await octokit.rest.pulls.get({ owner, repo, pull_number: asked.pullRequest });
  const headSha = pull.head.sha;
  const open = pull.state === "open";
  const run = open && weighed.accepted.length > 0 ? await findRun(action, settings, headSha) : null;
  const differences = weighed.accepted.length > 0 ? await differencesOf(action, settings, run) : null;
  const accepted: Acceptance[] = [];
  const refused: RefusedAcceptance[] = [...weighed.refused];
  for (const one of weighed.accepted) {
    const why = open ? uselessReason(one, differences, headSha) : "the pull request is closed";
    if (why === null) accepted.push(one);
    else refused.push({ difference: one.difference, by: one.by, via: one.via, url: one.url, why });
  }
  for (const line of refusalLines(refused, escapeTerminal)) log(line);
  for (const { difference, by, reason } of accepted) log(escapeTerminal(`${by} accepts ${difference}: ${reason}`));
  await answer(action, asked, refused);
  const again = accepted.length === 0 ? null : await runAgain(action, settings, run, patience);
  const [first] = accepted;
  setOutput("accepted", String(accepted.length > 0));
  setOutput("difference", first?.difference ?? "");
  setOutput("by", first?.by ?? "");
  setOutput("pull-request", String(asked.pullRequest));
  setOutput("run-id", again === null ? "" : String(again));
  return ExitCode.pass;
}

/** What started this step, by its event: a hint where to look, never a reason to trust. */
type AcceptRequest =
  | { readonly kind: "comment"; readonly pullRequest: number; readonly comment: number }
  | { readonly kind: "label"; readonly pullRequest: number }
  | { readonly kind: "by-hand"; readonly pullRequest: number }
  /** Nothing for this step; `reason` for the log. */
  | { readonly kind: "none"; readonly reason: string };

function ofComment(payload: unknown): AcceptRequest {
  const none = (reason: string): AcceptRequest => ({ kind: "none", reason });
  if (eventField(payload, "action") !== "created") return none("the comment is not a new one");
  if (eventField(payload, "issue", "pull_request") === undefined) return none("the comment is on an issue");
  const body = eventField(payload, "comment", "body");
  // A command that an edit added later is ignored: a new comment is needed.
  if (typeof body !== "string" || commandsOf(body).length === 0) return none("the comment accepts nothing");
  const [pullRequest, comment] = [eventNumber(payload, "issue", "number"), eventNumber(payload, "comment", "id")];
  if (pullRequest === null || comment === null) return none("the event names no comment");
  return { kind: "comment", pullRequest, comment };
}

function ofLabel(payload: unknown): AcceptRequest {
  const pullRequest = eventNumber(payload, "pull_request", "number");
  const set = eventField(payload, "action") === "labeled" && eventField(payload, "label", "name") === ACCEPT_LABEL;
  if (!set || pullRequest === null) return { kind: "none", reason: `the label ${ACCEPT_LABEL} was not set` };
  return { kind: "label", pullRequest };
}

/** Read the event; a number given by hand comes first. */
function readAcceptRequest(env: Environment, byHand: number | null): AcceptRequest {
  if (byHand !== null) return { kind: "by-hand", pullRequest: byHand };
  const payload = eventOf(env);
  if (payload === undefined) return { kind: "none", reason: "the event is missing" };
  switch (env.GITHUB_EVENT_NAME) {
    case "issue_comment":
      return ofComment(payload);
    case "pull_request":
    case "pull_request_target":
      return ofLabel(payload);
    default:
      return { kind: "none", reason: "this event accepts nothing; give the input pull-request to ask by hand" };
  }
}
