import path from "node:path";
import { GateError, usageError } from "../../core/errors.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { oneLine } from "../../core/text.ts";
import { formatBytes } from "../../core/units.ts";
import { readAnchors } from "../../gate/scenario/anchor-file.ts";
import { viewRepository } from "../../git/repository-view.ts";
import { degradedWarning } from "../../github/api/degrade.ts";
import { artifactUrl } from "../../github/api/run-context.ts";
import { tried } from "../../github/artifacts/artifact.ts";
import { expireImages } from "../../github/comment/image-ref.ts";
import { MAX_SUMMARY_BYTES, writeSummary } from "../../github/comment/summary.ts";
import { type GitData, openGitData } from "../../github/repository/git-data-client.ts";
import type { NightlyRun } from "../../nightly/nightly-run.ts";
import {
  currentMode,
  FIRST_NIGHT,
  type GateMode,
  type NightlyEntry,
  type Promotion,
  type PromotionPolicy,
  promotionText,
} from "../../nightly/state.ts";
import { md, table } from "../../report/markdown/markdown-text.ts";
import { renderSummary } from "../../report/markdown/summary-markdown.ts";
import type { GateReport, Verdict } from "../../report/model/gate-report.ts";
import { attempted } from "../attempted.ts";
import type { SubAction } from "../sub-action.ts";
import { readGitLocation, refusal } from "./eligible.ts";
import {
  artifactJob,
  type CompletedSession,
  measureSession,
  ownerOf,
  type Refresh,
  sessionRequest,
  storeHanded,
} from "./measure-session.ts";
import { proposeAnchors, proposeRecords, reportBreach } from "./publish-session.ts";
import { uploadSession } from "./session-artifact.ts";
import { loadNightlyState, type SavedSession, saveSession } from "./session-files.ts";
import { joinedBaseline, levelLine, nightsOf, nightTable, sessionOutcomeText } from "./session-text.ts";
import { BASELINES_REF, type RefreshSettings, refreshSettings } from "./settings.ts";

/** Store, judge and report one more session. @returns exit status @throws GateError REFRESH_REFUSED, INPUT_INVALID */
export async function refresh(action: SubAction): Promise<number> {
  const settings = refreshSettings(action.input);
  const gitData = openGitData(action.octokit, action.context, { log: action.log });
  const ref = settings.baseline.startsWith("ref:") ? settings.baseline.slice("ref:".length) : BASELINES_REF;
  if (settings.readMode) return readMode(action, settings, gitData, ref);
  if (settings.accept !== null && action.context.eventName !== "workflow_dispatch") {
    throw usageError(
      "INPUT_INVALID",
      "input accept is for a run by hand (workflow_dispatch)",
      "In a scheduled workflow it would accept every measurement.",
    );
  }
  const location = await readGitLocation(action);
  const refused = refusal(location, settings.requireProtected);
  if (refused !== null) throw refused;
  const request = sessionRequest(action, settings);
  const repository = await viewRepository(request.root, request.env);
  const { anchors } = await readAnchors(repository);
  const defaultBranch = location.defaultBranch ?? "main";
  const here: Refresh = { action, settings, request, repository, gitData, ref, anchors, defaultBranch };
  if (settings.stage === "write") return publish(here, await storeHanded(here));
  const measured = await measureSession(here);
  return settings.stage === "measure" ? handOver(here, measured) : publish(here, measured);
}

/** Leave the session for the job that stores it. The step fails only where that is not possible. */
async function handOver(here: Refresh, measured: CompletedSession): Promise<number> {
  const { action, request } = here;
  const { nightly, bundleArtifact } = measured;
  const { report } = nightly.outcome;
  const code = report.exit_code === ExitCode.interrupted ? ExitCode.interrupted : await handOverCode(here, measured);
  writeSummary(action.env.GITHUB_STEP_SUMMARY, renderGateSummary(action, report, bundleArtifact));
  for (const warning of report.warnings) action.warn(warning);
  action.log(`Stormlog Gate: ${report.verdict}, not stored yet (exit ${code})`);
  const bundleUrl = artifactUrl(action.context, bundleArtifact);
  setSessionOutputs(action, { verdict: report.verdict, code, stored: null, bundlePath: request.bundle, bundleUrl });
  return code;
}

/** Upload the session. @returns exit status */
async function handOverCode(here: Refresh, { nightly, ...measured }: CompletedSession): Promise<ExitCode> {
  const { report } = nightly.outcome;
  const envelopes = new Map(nightly.scenarios.map((one) => [one.report.scenario, one.envelopes]));
  const scratch = path.dirname(here.request.bundle);
  const session = { report, envelopes, ...measured };
  const job = await artifactJob(here);
  const left = await tried("upload the session", "Nothing is stored. The session is in the evidence bundle.", () =>
    uploadSession(job, scratch, ownerOf(here), session),
  );
  if (left.ok) here.action.log(`Uploaded the session as ${left.name} for the job that stores it.`);
  else here.action.warn(left.warning);
  return left.ok ? ExitCode.pass : ExitCode.error;
}

/** History, issue, proposals, summary and outputs of a session whose records are stored. @returns exit status */
async function publish(here: Refresh, measured: CompletedSession): Promise<number> {
  const { action, settings, request } = here;
  const { owner, repo, serverUrl, runId } = action.context;
  const { nightly, bundleArtifact } = measured;
  const { scenarios, outcome } = nightly;
  const cancelled = isCancelled(action);
  const saved = cancelled ? null : await save(here, measured);
  const nights: readonly NightlyEntry[] = saved?.state.nights ?? scenarios.map(({ entry }) => entry);
  const mode = saved?.mode ?? currentMode({ ...FIRST_NIGHT, mode: "advisory" }, settings.promotion);
  const repositoryUrl = `${serverUrl}/${owner}/${repo}`;
  const bundleUrl = artifactUrl(action.context, bundleArtifact);
  const runUrl = runId === null ? null : `${repositoryUrl}/actions/runs/${runId}`;
  const context = { key: settings.key, repositoryUrl, runUrl, bundleUrl, baseline: settings.baseline, nights };
  const issueUrl = cancelled ? null : await reportBreach(here, nightly, context);
  const anchorUrl = cancelled ? null : await proposeAnchors(here, nightly, nights);
  if (!cancelled) {
    await tidyImages(action, here.gitData);
    await proposeRecords(here, measured, nights);
  }
  const code = exitCode(nightly, mode);
  const promotion = saved?.state.promotion ?? null;
  const summary = sessionSummary(nightly, { nights, promotion, policy: settings.promotion, notes: measured.notes });
  writeSummary(action.env.GITHUB_STEP_SUMMARY, summary);
  writeSummary(action.env.GITHUB_STEP_SUMMARY, renderGateSummary(action, outcome.report, bundleArtifact));
  logOutcome(action, nightly, code);
  const approved = scenarios.length > 0 && scenarios.every(joinedBaseline);
  setSessionOutputs(action, {
    verdict: outcome.report.verdict,
    code,
    stored: { approved, mode: promotion?.mode ?? mode, issueUrl, anchorUrl },
    bundlePath: settings.stage === "write" ? "" : request.bundle,
    bundleUrl,
  });
  return code;
}

/** Whether the step was cancelled: it has seconds left, for its evidence alone. */
function isCancelled({ signal }: SubAction): boolean {
  return signal.aborted && !(signal.reason instanceof GateError && signal.reason.code === "STEP_TIMEOUT");
}

async function save(
  { action, settings, gitData, ref }: Refresh,
  { nightly }: CompletedSession,
): Promise<SavedSession | null> {
  const { verdict, generated_at_utc: nowIso } = nightly.outcome.report;
  const entries = nightly.scenarios.map(({ entry }) => entry);
  const session = { verdict, entries, policy: settings.promotion, nowIso };
  const attempt = {
    what: "write the night's history and badge",
    permission: "contents: write",
    instead: "The baselines were stored.",
  };
  return attempted(action, 60_000, attempt, () => saveSession(gitData, ref, settings.key, session, action.warn));
}

/** Exit status of the step: failures first, then a breach where the gate blocks. */
function exitCode({ outcome: { report }, scenarios }: NightlyRun, mode: GateMode): number {
  if (report.exit_code === ExitCode.interrupted) return ExitCode.interrupted;
  const failed = scenarios.some(
    ({ sessionOutcome, report: one }) => sessionOutcome.kind === "unsaved" || one.verdict === "error",
  );
  if (failed) return ExitCode.error;
  return report.verdict === "fail" && mode === "blocking" ? ExitCode.gateFailed : ExitCode.pass;
}

function logOutcome(action: SubAction, nightly: NightlyRun, code: number): void {
  for (const warning of nightly.outcome.report.warnings) action.warn(warning);
  for (const { report, sessionOutcome } of nightly.scenarios) {
    const name = oneLine(report.scenario);
    if (report.error !== null) {
      const hint = report.error.hint === null ? "" : ` ${report.error.hint}`;
      action.warn(`${name}: ${report.error.message}.${hint} Nothing was stored as a baseline.`);
    }
    if (sessionOutcome.kind === "unsaved") {
      action.warn(
        `${name}: the session could not be stored (${sessionOutcome.reason}). It is in the evidence bundle: ` +
          "`stormlog-gate baseline accept BUNDLE` stores it from there.",
      );
    }
    action.log(`${name}: ${report.verdict}, ${sessionOutcome.kind}`);
  }
  action.log(`Stormlog Gate: ${nightly.outcome.report.verdict} (exit ${code})`);
}

function renderGateSummary(action: SubAction, report: GateReport, bundleArtifact: number | null): string {
  const bundleUrl = artifactUrl(action.context, bundleArtifact);
  const maxChars = MAX_SUMMARY_BYTES / 2;
  return renderSummary(report, { bundleUrl, htmlUrl: null, maxChars });
}

/** Remove pictures of closed and of inactive pull requests. Never throws: the next nightly run removes what is left. */
export async function tidyImages({ octokit, context, signal, log, warn }: SubAction, gitData: GitData): Promise<void> {
  const permission = "contents: write, pull-requests: read";
  const attempt = { what: "remove old pictures", permission, instead: "The next nightly run tries again." };
  // Maximum time for removing old pictures, milliseconds.
  await attempted({ signal, warn }, 60_000, attempt, async () => {
    const { owner, repo } = context;
    const { deleted, failed } = await expireImages({ octokit, gitData, repository: { owner, repo } });
    if (deleted.length > 0) log(`Removed the pictures of ${deleted.length} closed or inactive pull requests`);
    const [first] = failed;
    if (first !== undefined) warn(degradedWarning(attempt, first.error));
  });
}

/** What a step reports of its session. */
interface SessionOutputs {
  readonly verdict: Verdict;
  readonly code: number;
  /** Null in the job that only measures. */
  readonly stored: {
    readonly approved: boolean;
    readonly mode: GateMode;
    readonly issueUrl: string | null;
    readonly anchorUrl: string | null;
  } | null;
  readonly bundlePath: string;
  readonly bundleUrl: string | null;
}

/** Set every output of the step; one without a value is empty. */
function setSessionOutputs({ setOutput }: SubAction, session: SessionOutputs): void {
  const { stored } = session;
  setOutput("verdict", session.verdict);
  setOutput("exit-code", String(session.code));
  setOutput("approved", stored === null ? "" : String(stored.approved));
  setOutput("mode", stored?.mode ?? "");
  setOutput("fail-on", stored === null ? "" : failOn(stored.mode));
  setOutput("issue-url", stored?.issueUrl ?? "");
  setOutput("anchor-url", stored?.anchorUrl ?? "");
  setOutput("bundle-path", session.bundlePath);
  setOutput("artifact-url", session.bundleUrl ?? "");
}

interface SummaryContext {
  readonly nights: readonly NightlyEntry[];
  /** Null when the state could not be read. */
  readonly promotion: Promotion | null;
  readonly policy: PromotionPolicy;
  readonly notes: readonly string[];
}

/** The outcome of the nightly run for the job's page, above the gate's own summary. */
function sessionSummary(nightly: NightlyRun, context: SummaryContext): string {
  const rows = nightly.scenarios.map(({ report, sessionOutcome, entry }) => [
    md(report.scenario, 80),
    `**${report.verdict}**`,
    entry.level_bytes === null ? "" : formatBytes(entry.level_bytes),
    md(sessionOutcomeText(sessionOutcome), 300),
  ]);
  return [
    "## Memory baselines: nightly session",
    "",
    table(["scenario", "verdict", "peak", "session"], ["l", "l", "r", "l"], rows),
    "",
    ...(context.promotion === null ? [] : [promotionText(context.promotion, context.policy), ""]),
    ...context.notes.map((note) => `- ${md(note, 300)}`),
    ...nightly.scenarios.flatMap(({ report, entry }) => {
      const nights = nightsOf(context.nights, entry);
      if (nights.length < 2) return [];
      return ["", `### ${md(report.scenario, 80)}`, "", `\`${levelLine(nights)}\``, "", nightTable(nights)];
    }),
    "",
  ].join("\n");
}

/** What a gate's `fail-on` is to be in a mode. */
function failOn(mode: "advisory" | "blocking"): "never" | "regression" {
  return mode === "advisory" ? "never" : "regression";
}

/**
 * Set the outputs that decide whether a gate's job blocks: read-only, allowed for every event. Where the state cannot
 * be read, the workflow's own `mode` counts without promotion, so that no failure of the network loosens or tightens
 * the gate silently.
 */
async function readMode(action: SubAction, settings: RefreshSettings, gitData: GitData, ref: string): Promise<number> {
  let mode = settings.promotion.mode;
  const attempt = {
    what: "read the gate's mode",
    permission: "contents: read",
    instead: `The mode "${mode}" is used.`,
  };
  const state = await attempted(action, 20_000, attempt, () => loadNightlyState(gitData, ref, settings.key));
  if (state !== null && state.nights.length > 0) mode = state.promotion.mode;
  action.setOutput("mode", mode);
  action.setOutput("fail-on", failOn(mode));
  action.log(`Stormlog Gate: ${mode}`);
  return ExitCode.pass;
}
