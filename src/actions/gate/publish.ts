import { existsSync } from "node:fs";
import path from "node:path";
import type { GateError } from "../../core/errors.ts";
import { escapeMarkdown } from "../../core/escape.ts";
import { type ArtifactJob, uploadBundle, uploadTimeline } from "../../github/artifact.ts";
import { type CommentResult, commentWarning, MAX_COMMENT_CHARS, stickyComment } from "../../github/comment.ts";
import { withDeadline } from "../../github/deadline.ts";
import { connect } from "../../github/octokit.ts";
import type { Published } from "../../github/outputs.ts";
import { readPullRequest } from "../../github/pull-request.ts";
import { runContext } from "../../github/run-context.ts";
import { MAX_SUMMARY_BYTES, writeSummary } from "../../github/summary.ts";
import type { GateReport } from "../../report/model.ts";
import type { PublishSettings } from "./inputs.ts";
import { rememberUploaded } from "./state.ts";
import type { Step } from "./step.ts";

/** An upload is worth this long; cancelled, the step has to be gone within 7.5 s. */
const UPLOAD_DEADLINE_MS = 60_000;
const COMMENT_DEADLINE_MS = 30_000;
const AFTER_INTERRUPT_MS = 3000;

interface Evidence {
  readonly artifactId: number | null;
  readonly artifactUrl: string | null;
  readonly timelineUrl: string | null;
}

const NO_EVIDENCE: Evidence = { artifactId: null, artifactUrl: null, timelineUrl: null };

export function artifactJob(
  step: Step,
  settings: Pick<PublishSettings, "artifactName" | "retentionDays">,
): ArtifactJob {
  return {
    store: step.artifacts,
    context: runContext(step.env),
    name: settings.artifactName,
    retentionDays: settings.retentionDays,
    deadline: { ms: UPLOAD_DEADLINE_MS, interrupt: step.interrupt, msAfterInterrupt: AFTER_INTERRUPT_MS },
  };
}

async function uploadEvidence(
  step: Step,
  settings: PublishSettings,
  bundleDir: string,
  warnings: string[],
): Promise<Evidence> {
  const job = artifactJob(step, settings);
  const bundle = await uploadBundle(job, bundleDir);
  if (!bundle.ok) {
    warnings.push(bundle.warning);
    // Cancelled in the middle of it: the post step has more time.
    if (!step.interrupt.aborted) rememberUploaded(step.runner);
    return NO_EVIDENCE;
  }
  rememberUploaded(step.runner);
  const evidence = { artifactId: bundle.id, artifactUrl: bundle.url };
  const html = path.join(bundleDir, "timeline.html");
  if (!existsSync(html) || step.interrupt.aborted) return { ...evidence, timelineUrl: null };
  const timeline = await uploadTimeline({ ...job, name: bundle.name }, html, path.dirname(bundleDir));
  if (!timeline.ok) warnings.push(timeline.warning);
  return { ...evidence, timelineUrl: timeline.ok ? timeline.url : null };
}

/** The comment's page, or null when there is none; what went wrong joins the warnings. */
async function comment(
  step: Step,
  settings: PublishSettings,
  text: string,
  warnings: string[],
): Promise<string | null> {
  if (!settings.comment || step.interrupt.aborted) return null;
  const pullRequest = readPullRequest(step.env);
  if (pullRequest === null) return null;
  const context = runContext(step.env);
  const { owner, repo } = context;
  if (owner === null || repo === null) return null;
  if (settings.token === null) {
    warnings.push(
      "There is no token, so the pull request gets no comment; the job summary shows what it would have said.",
    );
    return null;
  }
  const token = settings.token;
  const deadline = { ms: COMMENT_DEADLINE_MS, interrupt: step.interrupt, msAfterInterrupt: AFTER_INTERRUPT_MS };
  const target = {
    owner,
    repo,
    pullRequest: pullRequest.number,
    headSha: pullRequest.headSha,
    key: settings.commentKey,
  };
  let result: CommentResult;
  try {
    result = await withDeadline(deadline, async (signal) => {
      const log = (line: string): void => step.runner.info(line);
      const octokit = await connect({ token, context, signal, longestWaitS: COMMENT_DEADLINE_MS / 2000, log });
      return stickyComment(octokit, target, text);
    });
  } catch (error) {
    result = { action: "failed", warning: commentWarning(error) };
  }
  switch (result.action) {
    case "failed":
      warnings.push(result.warning);
      return null;
    case "outdated":
      step.runner.info("The pull request has a newer commit; its own run keeps the comment.");
      return null;
    default:
      step.runner.info(`Pull request comment ${result.action}: ${result.url}`);
      return result.url;
  }
}

export interface Publication {
  readonly published: Published;
  /** What could not be published, one line each; nothing of it touches the verdict. */
  readonly warnings: readonly string[];
}

/** Bring a report to everybody who waits for it: artifact, comment, job summary. Never throws for what the network does. */
export async function publishReport(
  step: Step,
  settings: PublishSettings,
  report: GateReport,
  bundleDir: string,
): Promise<Publication> {
  const warnings = [...settings.notices];
  // A cancelled step has seconds left: the post step uploads, and nobody waits for a comment.
  const evidence = step.interrupt.aborted ? NO_EVIDENCE : await uploadEvidence(step, settings, bundleDir, warnings);
  const links = {
    timelineImageUrl: null,
    bundleUrl: evidence.artifactUrl,
    htmlUrl: evidence.timelineUrl,
    mermaid: settings.mermaid,
  };
  const text = await step.markdown(report, { ...links, maxChars: MAX_COMMENT_CHARS });
  const commentUrl = await comment(step, settings, text, warnings);
  const complete = { ...report, warnings: [...report.warnings, ...warnings] };
  const summary = await step.markdown(complete, { ...links, maxChars: MAX_SUMMARY_BYTES });
  if (!writeSummary(step.env.GITHUB_STEP_SUMMARY, summary) && step.env.GITHUB_STEP_SUMMARY) {
    warnings.push("Could not write the job summary: its file is full or cannot be written.");
  }
  return {
    published: { ...evidence, bundlePath: bundleDir, reportPath: path.join(bundleDir, "report.json"), commentUrl },
    warnings,
  };
}

/** A gate that could not start says so where its verdict would stand, so that no older verdict seems to hold. */
export async function publishError(
  step: Step,
  settings: PublishSettings,
  error: GateError,
): Promise<{ readonly commentUrl: string | null; readonly warnings: readonly string[] }> {
  const warnings: string[] = [...settings.notices];
  const hint = error.hint === undefined ? "" : ` ${escapeMarkdown(error.hint)}`;
  const text = `## Stormlog Gate: error\n\n**${escapeMarkdown(error.code)}**: ${escapeMarkdown(error.message)}.${hint}\n`;
  const commentUrl = await comment(step, settings, text, warnings);
  writeSummary(step.env.GITHUB_STEP_SUMMARY, text);
  return { commentUrl, warnings };
}
