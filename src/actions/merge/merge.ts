import { error } from "@actions/core";
import { GateError, messageOf } from "../../core/errors.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { plural } from "../../core/text.ts";
import { withDeadline } from "../../github/api/deadline.ts";
import { degradedWarning } from "../../github/api/degrade.ts";
import { actionsArtifactStore } from "../../github/artifacts/artifact.ts";
import { sectionReader } from "../../github/artifacts/section-artifacts.ts";
import { commentWarning } from "../../github/comment/comment.ts";
import { keepSectionComment } from "../../github/comment/section-comment.ts";
import { MAX_SUMMARY_BYTES, writeSummary } from "../../github/comment/summary.ts";
import { outputsOf } from "../../github/outputs.ts";
import { readPullRequest } from "../../github/pull-request/pull-request.ts";
import { openGitData } from "../../github/repository/git-data-client.ts";
import { answerOfSections, type SectionsAnswer, uniteSections } from "../../merge/merge-sections.ts";
import { answerSentence } from "../../report/headline/sentence.ts";
import { renderComment } from "../../report/markdown/comment-markdown.ts";
import { worstScenario } from "../../report/model/gate-report.ts";
import type { Section } from "../../report/model/section.ts";
import { decidingScaling } from "../../report/wording/scaling-text.ts";
import { stepExitCode } from "../gate-error.ts";
import { callsItselfAccepted, type Ground, holdClaims } from "../report/claims.ts";
import { doubtNotes } from "../report/notes.ts";
import { openSource } from "../report/source.ts";
import type { SubAction } from "../sub-action.ts";
import { type MergeSettings, mergeSettings } from "./settings.ts";

const AFTER_INTERRUPT_MS = 1000;

/** The pull request and its acceptances. */
interface PullRequestContext {
  /** Null where this run has none, or GitHub did not answer. */
  readonly pullRequest: { readonly number: number; readonly headSha: string | null } | null;
  readonly ground: Ground;
}

/** One verdict for a matrix or all nodes of a job: comment, summary, exit status. Runs no code of the change. */
export async function merge(action: SubAction): Promise<number> {
  const settings = mergeSettings(action.input);
  for (const name of ["results", "legs", "comment-url"]) action.setOutput(name, "");
  action.setOutput("verdict", "error");
  action.setOutput("exit-code", String(ExitCode.error));
  const legs = await openLegs(action, settings);
  const known = await lookUp(action, settings, await legs.callThemselvesAccepted());
  let now = await legs.read(known.ground);
  const commentUrl = await keepComment(action, settings, known, async () => {
    now = await legs.read(known.ground);
    return now;
  });
  if (commentUrl !== null) action.setOutput("comment-url", commentUrl);
  // Sections that arrived while the comment was written count too.
  return report(action, settings, now);
}

/** The pull request and its acceptances. Without an answer of GitHub the legs' own count, but not a fork's. */
async function lookUp(action: SubAction, settings: MergeSettings, accepted: boolean): Promise<PullRequestContext> {
  const { context, signal, warn } = action;
  const deadline = { ms: 60_000, interrupt: signal, msAfterInterrupt: AFTER_INTERRUPT_MS };
  const without = (untrusted: boolean): PullRequestContext => ({
    pullRequest: null,
    ground: { live: null, headSha: null, untrusted },
  });
  try {
    return await withDeadline(deadline, async () => {
      const { pullRequest, record, acceptances } = await openSource(action, settings.gateId, context.runId);
      if (pullRequest.kind === "none") return without(record.untrusted);
      const live = accepted ? await acceptances(pullRequest) : null;
      return { pullRequest, ground: { live, headSha: pullRequest.headSha, untrusted: record.untrusted } };
    });
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    const instead = "No comment was written. The job summary has the verdict.";
    warn(degradedWarning({ what: "look up the pull request", permission: "pull-requests: read", instead }, cause));
    return without(readPullRequest(action.env)?.fromFork ?? false);
  }
}

async function keepComment(
  { octokit, context, signal, log, warn }: SubAction,
  { comment, gateId, image }: MergeSettings,
  { pullRequest }: PullRequestContext,
  read: () => Promise<LegsNow>,
): Promise<string | null> {
  if (!comment || pullRequest === null) return null;
  let now: LegsNow | null = null;
  const kept = {
    octokit,
    gitData: openGitData(octokit, context),
    context,
    pullRequest,
    gateId,
    sections: async () => {
      now = await read();
      return now.sections;
    },
    runId: context.runId,
    image,
    get expected() {
      return now?.answer.expected ?? null;
    },
    notes: () => (now === null ? [] : notesOf(now)),
    log,
  };
  try {
    const deadline = { ms: 120_000, interrupt: signal, msAfterInterrupt: AFTER_INTERRUPT_MS };
    return await withDeadline(deadline, () => keepSectionComment(kept, warn));
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    warn(commentWarning(cause, "The verdict is the result of this job. Its summary has the details."));
    return null;
  }
}

function notesOf({ answer, notes }: LegsNow): readonly string[] {
  return [...answer.missing.map(({ message }) => `${message}.`), ...notes];
}

function legsText(sections: readonly Section[]): string {
  return JSON.stringify(
    sections.map(({ leg, runAttempt, report }) => ({
      leg,
      verdict: report.verdict,
      confirmed: report.confirmed,
      attempt: runAttempt,
      runs: report.cost.runs,
      minutes: report.cost.minutes,
    })),
  );
}

function report(action: SubAction, settings: MergeSettings, now: LegsNow): number {
  const { context, setOutput, env, log, warn } = action;
  const { sections, answer } = now;
  const { report } = answer;
  const { verdict, exit_code: code } = report;
  setOutput("verdict", verdict);
  setOutput("exit-code", String(code));
  setOutput("results", outputsOf(report).results);
  setOutput("legs", legsText(sections));
  const { owner, repo, serverUrl, runId } = context;
  const summary = renderComment(sections, {
    gateId: settings.gateId,
    repositoryUrl: `${serverUrl}/${owner}/${repo}`,
    runId,
    images: new Map(),
    expected: answer.expected,
    notes: notesOf(now),
    maxChars: MAX_SUMMARY_BYTES,
  });
  if (!writeSummary(env.GITHUB_STEP_SUMMARY, summary) && env.GITHUB_STEP_SUMMARY) {
    warn("Could not write the job summary: its file is full or not writable.");
  }
  for (const { message } of answer.missing) warn(`${message}; a missing leg is not a pass.`);
  const { runs, minutes } = report.cost;
  // A missing leg is not exempt.
  const status = stepExitCode(code, settings.verdictFails || answer.missing.length > 0);
  const worst = worstScenario(report);
  if (status !== ExitCode.pass && worst !== null) {
    const why = decidingScaling(report) ?? `${worst.scenario}: ${answerSentence(worst)}`;
    error(`${verdict}: ${why}`, { title: "Stormlog merge" });
  }
  log(`${sections.length} legs: ${verdict} (${plural(runs, "run")}, ${minutes.toFixed(1)} min)`);
  return status;
}

/** The sections of this run's legs, as they are now. */
interface LegsNow {
  /** As the comment shows them. */
  readonly sections: readonly Section[];
  readonly answer: SectionsAnswer;
  /** Notes about sections whose claims were corrected. */
  readonly notes: readonly string[];
}

/** The sections of this run's legs through the job's own artifact service, read at every call. */
async function openLegs({ context, env, signal, log }: SubAction, settings: MergeSettings) {
  const { runAttempt } = context;
  const headSha = readPullRequest(env)?.headSha ?? null;
  const reader = sectionReader(await actionsArtifactStore(), settings.gateId, { headSha, attempt: runAttempt });
  const sections = async (): Promise<readonly Section[]> => {
    try {
      const deadline = { ms: 120_000, interrupt: signal, msAfterInterrupt: 1000 };
      const found = await withDeadline(deadline, () => reader.read());
      for (const line of reader.refused()) log(`Not a section: ${line}`);
      return found;
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      throw new GateError("SECTIONS_UNREADABLE", `the sections of the legs cannot be read: ${messageOf(cause)}`, {
        hint: "Re-run this job. The measurements of the legs are kept.",
        cause,
      });
    }
  };
  /** A leg that ran again and left nothing looks like one that did not run: only GitHub's own record separates them. */
  const olderNotes = (given: readonly Section[]): readonly string[] => {
    const older = given.filter((section) => section.runAttempt < runAttempt).map(({ leg }) => leg ?? "job");
    if (older.length === 0 || settings.result !== null) return [];
    const shown = older.length > 5 ? `${older.slice(0, 5).join(", ")} and ${older.length - 5} more` : older.join(", ");
    return [
      `Measured in an earlier attempt of this run: ${shown}. Set the input result to detect a leg that has failed since.`,
    ];
  };
  return {
    /** Whether a leg reports an accepted difference, which has to be checked with GitHub. */
    callThemselvesAccepted: async (): Promise<boolean> => callsItselfAccepted(await sections()),
    /** @throws GateError SECTIONS_UNREADABLE: a verdict needs the legs' sections */
    async read(ground: Ground): Promise<LegsNow> {
      const given = await sections();
      const held = holdClaims(given, ground);
      const { expected, unjudged, result } = settings;
      const answer = answerOfSections({
        given,
        united: uniteSections(held.sections),
        expected,
        unjudged,
        refused: reader.refused(),
        recorded: result === "success" ? null : result,
        argv: ["stormlog-gate", "merge"],
        now: new Date(),
      });
      const notes = [...doubtNotes({ ...held, refused: [] }, "leg"), ...olderNotes(given)];
      return { sections: answer.sections, answer, notes };
    },
  };
}
