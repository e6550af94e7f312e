import { existsSync } from "node:fs";
import path from "node:path";
import { GateError, usageError } from "../../core/errors.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { oneLine } from "../../core/text.ts";
import type { GatePorts } from "../../gate/ports/ports.ts";
import type { Anchor } from "../../gate/scenario/anchor.ts";
import { readAnchors } from "../../gate/scenario/anchor-file.ts";
import { withDeadline } from "../../github/api/deadline.ts";
import { degradedWarning } from "../../github/api/degrade.ts";
import { artifactUrl } from "../../github/api/run-context.ts";
import { actionsArtifactStore, type Upload, uploadBundle } from "../../github/artifacts/artifact.ts";
import { MAX_SUMMARY_BYTES, writeSummary } from "../../github/comment/summary.ts";
import { acceptedOnMain } from "../../github/pull-request/acceptances.ts";
import { openGitData } from "../../github/repository/git-data-client.ts";
import { type Compositions, keepCompositions, measureCompositions } from "../../nightly/compositions.ts";
import {
  type Breach,
  type NightlyRun,
  type NightlyScenario,
  runNightly,
  storeMeasured,
} from "../../nightly/nightly-run.ts";
import { selfTest } from "../../nightly/self-test.ts";
import { currentMode, type GateMode, type NightlyEntry, type Trial } from "../../nightly/state.ts";
import { renderSummary } from "../../report/markdown/summary-markdown.ts";
import type { GateReport } from "../../report/model/gate-report.ts";
import { covers } from "../../verdict/difference.ts";
import { attempted } from "../attempted.ts";
import { withStopCommands } from "../stop-commands.ts";
import type { SubAction } from "../sub-action.ts";
import { readGitLocation, refusal } from "./eligible.ts";
import { sessionRequest, sessionStore } from "./measure-session.ts";
import { proposeAnchors, proposeRecords, reportBreach } from "./publish-session.ts";
import { readMode } from "./read-mode.ts";
import { downloadSession, type SessionOwner, uploadSession } from "./session-artifact.ts";
import { type SavedSession, saveSession } from "./session-files.ts";
import { setSessionOutputs } from "./session-outputs.ts";
import { sessionSummary } from "./session-summary.ts";
import { joinedBaseline } from "./session-text.ts";
import { BASELINES_REF, type RefreshSettings, refreshSettings } from "./settings.ts";
import { stagedStore } from "./staged-store.ts";
import { tidyImages } from "./tidy-images.ts";

const UPLOAD_DEADLINE_MS = 60_000;
const ACCEPTED_DEADLINE_MS = 90_000;
const SAVE_DEADLINE_MS = 60_000;
const AFTER_INTERRUPT_MS = 5000;

/** Whether a breach was accepted in the pull request that brought it: who, and why. */
async function acceptedReason(action: SubAction, breach: Breach): Promise<string | null> {
  if (breach.difference === null || breach.commit === null) return null;
  const { owner, repo } = action.context;
  const { commit, since } = breach;
  const known = await withDeadline({ ms: ACCEPTED_DEADLINE_MS, interrupt: action.signal }, () =>
    acceptedOnMain(action.octokit, { owner, repo }, commit, since),
  );
  const found = { token: breach.difference };
  const match = known.find(({ acceptance }) => covers(acceptance, found));
  if (match === undefined) {
    const others = known.map(({ acceptance, pullRequest }) => `${acceptance.difference} in #${pullRequest}`);
    if (others.length > 0) {
      action.log(
        `Accepted before the merge: ${others.join(", ")}. None covers this session's difference (${breach.difference}).`,
      );
    }
    return null;
  }
  return `${match.acceptance.reason} (accepted by ${match.acceptance.by} in #${match.pullRequest})`;
}

/** What the next gate compares with: the approved runs, including the new ones when they were approved. */
function nextBaseline({ sessionOutcome, older, night }: NightlyScenario) {
  if (!joinedBaseline({ sessionOutcome })) return null;
  const before = sessionOutcome.kind === "epoch" ? [] : (older?.runs ?? []);
  return { ...night, runs: [...before, ...night.runs] };
}

interface Measured {
  readonly nightly: NightlyRun;
  readonly compositions: Compositions;
  readonly trials: readonly Trial[];
  readonly notes: readonly string[];
}

type GitDataClient = ReturnType<typeof openGitData>;
type Request = ReturnType<typeof sessionRequest>;

/** Exit status of the step: failures first, then a breach where the gate blocks. */
function exitCode(nightly: NightlyRun, mode: GateMode): number {
  const { report } = nightly.outcome;
  if (report.exit_code === ExitCode.interrupted) return ExitCode.interrupted;
  const { scenarios } = nightly;
  if (scenarios.some(({ sessionOutcome }) => sessionOutcome.kind === "unsaved")) return ExitCode.error;
  if (scenarios.some(({ report: one }) => one.verdict === "error")) return ExitCode.error;
  return report.verdict === "fail" && mode === "blocking" ? ExitCode.gateFailed : ExitCode.pass;
}

/** The uploaded bundle's id; null where there is none, and with one warning where it could not be uploaded. */
async function upload(action: SubAction, settings: RefreshSettings, bundle: string): Promise<number | null> {
  if (!existsSync(bundle)) return null;
  const answer = await uploadBundle(
    {
      store: actionsArtifactStore(),
      context: action.context,
      name: settings.artifactName,
      retentionDays: settings.retentionDays,
      deadline: { ms: UPLOAD_DEADLINE_MS, interrupt: action.signal, msAfterInterrupt: AFTER_INTERRUPT_MS },
    },
    bundle,
  );
  if (!answer.ok) {
    action.warn(answer.warning);
    return null;
  }
  return answer.id;
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

async function measure(
  action: SubAction,
  settings: RefreshSettings,
  request: Request,
  gitData: GitDataClient,
): Promise<Measured> {
  const own = sessionStore(settings, request, gitData);
  const staged = settings.stage === "measure";
  const store = staged ? stagedStore(own) : own;
  return withStopCommands("Stormlog Gate: measuring the nightly session", action, async (base) => {
    // The store that is written is also the one that is read, so that nothing is fetched twice.
    const ports: GatePorts = { ...base, ...(store.kind === "ref" ? { openRef: () => store } : {}) };
    const nightly = await runNightly(
      request,
      {
        store,
        spec: settings.baseline,
        runs: settings.runs,
        accept: settings.accept,
        // The job that stores it asks for acceptances; this one has no permission to.
        accepted: async (breach) => (staged ? null : acceptedReason(action, breach)),
        warn: ports.log,
      },
      ports,
    );
    const trials: Trial[] = [];
    const notes: string[] = [];
    for (const one of settings.selfTest ? nightly.scenarios : []) {
      if (ports.interrupt.aborted) break;
      const baseline = nextBaseline(one);
      if (baseline === null) {
        notes.push(`${one.report.scenario}: no self-test, because the session did not join the baseline`);
        continue;
      }
      const { session, commit } = nightly.outcome.report;
      const tested = await selfTest(request, one.scenario, { baseline, session, commit }, ports);
      trials.push(...tested.trials);
      notes.push(...tested.notes);
    }
    const joined = settings.composition ? nightly.scenarios.filter(joinedBaseline) : [];
    const peaks = await measureCompositions(request, joined, store, ports);
    notes.push(...peaks.notes);
    if (!staged) notes.push(...(await keepCompositions(peaks.compositions, joined, store)));
    return { nightly, compositions: peaks.compositions, trials, notes };
  });
}

async function save(
  action: SubAction,
  settings: RefreshSettings,
  gitData: GitDataClient,
  ref: string,
  { nightly, trials }: Measured,
): Promise<SavedSession | null> {
  const { report } = nightly.outcome;
  const session = {
    verdict: report.verdict,
    entries: nightly.scenarios.map(({ entry }) => entry),
    trials,
    policy: settings.promotion,
    nowIso: report.generated_at_utc,
  };
  const attempt = {
    what: "write the night's history and badge",
    permission: "contents: write",
    instead: "The baselines were stored.",
  };
  return attempted(action, SAVE_DEADLINE_MS, attempt, () =>
    saveSession(gitData, ref, settings.key, session, action.warn),
  );
}

/** The session of this run's measuring job, stored now. Runs nothing of the program. */
async function storeHanded(
  action: SubAction,
  settings: RefreshSettings,
  request: Request,
  gitData: GitDataClient,
): Promise<Measured & { readonly bundleArtifact: number | null }> {
  const handed = await downloadSession(actionsArtifactStore(), ownerOf(action, settings), request);
  const store = sessionStore(settings, request, gitData);
  const nightly = await storeMeasured(
    request,
    handed,
    {
      store,
      spec: settings.baseline,
      runs: settings.runs,
      accept: settings.accept,
      accepted: (breach) => acceptedReason(action, breach),
      warn: action.log,
    },
    new Date(),
  );
  const { compositions, trials, bundleArtifact } = handed;
  const unkept = await keepCompositions(compositions, nightly.scenarios.filter(joinedBaseline), store);
  return { nightly, compositions, trials, notes: [...handed.notes, ...unkept], bundleArtifact };
}

function ownerOf({ context }: SubAction, { key }: RefreshSettings): SessionOwner {
  return { key, commit: context.sha, attempt: context.runAttempt };
}

/** Leave the session for the job that stores it. The step fails only where that is not possible. */
async function handOver(
  action: SubAction,
  settings: RefreshSettings,
  request: Request,
  { nightly, compositions, trials, notes }: Measured,
  bundleArtifact: number | null,
): Promise<number> {
  const { context, env, signal, warn, log } = action;
  const { report } = nightly.outcome;
  const envelopes = new Map(nightly.scenarios.map((one) => [one.report.scenario, one.envelopes]));
  let code: number = report.exit_code === ExitCode.interrupted ? ExitCode.interrupted : ExitCode.pass;
  if (code === ExitCode.pass) {
    const deadline = { ms: UPLOAD_DEADLINE_MS, interrupt: signal, msAfterInterrupt: AFTER_INTERRUPT_MS };
    const left = await uploadSession(
      { store: actionsArtifactStore(), context, retentionDays: settings.retentionDays, deadline },
      path.dirname(request.bundle),
      ownerOf(action, settings),
      { report, envelopes, compositions, trials, notes, bundleArtifact },
    ).catch((error: unknown): Upload => {
      const instead = "Nothing is stored. The session is in the evidence bundle.";
      return { ok: false, warning: degradedWarning({ what: "upload the session", permission: null, instead }, error) };
    });
    if (left.ok) log(`Uploaded the session as ${left.name} for the job that stores it.`);
    else {
      warn(left.warning);
      code = ExitCode.error;
    }
  }
  writeSummary(env.GITHUB_STEP_SUMMARY, renderGateSummary(action, report, bundleArtifact));
  for (const warning of report.warnings) warn(warning);
  log(`Stormlog Gate: ${report.verdict}, not stored yet (exit ${code})`);
  const artifactUrl = urlOf(action, bundleArtifact);
  setSessionOutputs(action, { verdict: report.verdict, code, stored: null, bundlePath: request.bundle, artifactUrl });
  return code;
}

function urlOf({ context }: SubAction, id: number | null): string | null {
  return id === null ? null : artifactUrl(context, id);
}

function renderGateSummary(action: SubAction, report: GateReport, bundleArtifact: number | null): string {
  const bundleUrl = urlOf(action, bundleArtifact);
  const maxChars = MAX_SUMMARY_BYTES / 2;
  return renderSummary(report, { timelineImageUrl: null, bundleUrl, htmlUrl: null, maxChars });
}

/** Whether the step was cancelled: it has seconds left, for its evidence alone. */
function isCancelled({ signal }: SubAction): boolean {
  return signal.aborted && !(signal.reason instanceof GateError && signal.reason.code === "STEP_TIMEOUT");
}

/** Store, judge and report one more session. @returns exit status @throws GateError REFRESH_REFUSED, INPUT_INVALID */
export async function refresh(action: SubAction): Promise<number> {
  const settings = refreshSettings(action.input);
  const { owner, repo } = action.context;
  const gitData = openGitData(action.octokit, { owner, repo }, { log: action.log });
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
  const { anchors } = await readAnchors(request.root, request.env);
  const defaultBranch = location.defaultBranch ?? "main";
  if (settings.stage === "write") {
    const { bundleArtifact, ...measured } = await storeHanded(action, settings, request, gitData);
    return publish({ action, settings, request, gitData, ref, anchors, defaultBranch }, measured, bundleArtifact);
  }
  let measured: Measured;
  let bundleArtifact: number | null;
  try {
    measured = await measure(action, settings, request, gitData);
  } finally {
    bundleArtifact = await upload(action, settings, request.bundle);
  }
  if (settings.stage === "measure") return handOver(action, settings, request, measured, bundleArtifact);
  return publish({ action, settings, request, gitData, ref, anchors, defaultBranch }, measured, bundleArtifact);
}

interface Publication {
  readonly action: SubAction;
  readonly settings: RefreshSettings;
  readonly request: Request;
  readonly gitData: GitDataClient;
  readonly ref: string;
  readonly anchors: readonly Anchor[];
  readonly defaultBranch: string;
}

/** History, issue, proposals, summary and outputs of a session whose records are stored. @returns exit status */
async function publish(
  { action, settings, request, gitData, ref, anchors, defaultBranch }: Publication,
  measured: Measured,
  bundleArtifact: number | null,
): Promise<number> {
  const { owner, repo, serverUrl, runId } = action.context;
  const { nightly } = measured;
  const { report } = nightly.outcome;
  const cancelled = isCancelled(action);
  const saved = cancelled ? null : await save(action, settings, gitData, ref, measured);
  const nights: readonly NightlyEntry[] = saved?.state.nights ?? nightly.scenarios.map(({ entry }) => entry);
  const mode =
    saved?.mode ?? currentMode({ mode: "advisory", clean_nights: 0, promoted_iso: null }, settings.promotion);
  const repositoryUrl = `${serverUrl}/${owner}/${repo}`;
  const bundleUrl = urlOf(action, bundleArtifact);
  const context = {
    key: settings.key,
    repositoryUrl,
    runUrl: runId === null ? null : `${repositoryUrl}/actions/runs/${runId}`,
    bundleUrl,
    baseline: settings.baseline,
    nights,
  };
  const target = { anchors, nights, defaultBranch };
  const issueUrl = cancelled ? null : await reportBreach(action, settings, nightly, context);
  const anchorUrl = cancelled ? null : await proposeAnchors(action, settings, request, nightly, target);
  if (!cancelled) {
    await tidyImages(action, gitData);
    await proposeRecords(action, settings, request, measured, target);
  }
  const code = exitCode(nightly, mode);
  const summary = sessionSummary(nightly, {
    nights,
    promotion: saved?.state.promotion ?? null,
    policy: settings.promotion,
    trials: measured.trials,
    notes: measured.notes,
  });
  writeSummary(action.env.GITHUB_STEP_SUMMARY, summary);
  writeSummary(action.env.GITHUB_STEP_SUMMARY, renderGateSummary(action, report, bundleArtifact));
  logOutcome(action, nightly, code);
  setSessionOutputs(action, {
    verdict: report.verdict,
    code,
    stored: {
      approved: nightly.scenarios.length > 0 && nightly.scenarios.every(joinedBaseline),
      mode: saved?.state.promotion.mode ?? mode,
      issueUrl,
      anchorUrl,
    },
    bundlePath: settings.stage === "write" ? "" : request.bundle,
    artifactUrl: bundleUrl,
  });
  return code;
}
