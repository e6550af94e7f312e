import { usageError } from "../../core/errors.ts";
import { actionsArtifactStore } from "../../github/artifacts/artifact.ts";
import { runSectionReader } from "../../github/artifacts/run-sections.ts";
import { type SectionReader, sectionReader } from "../../github/artifacts/section-artifacts.ts";
import { readAcceptances } from "../../github/pull-request/acceptances.ts";
import { copiedPullRequest, readPullRequest } from "../../github/pull-request/pull-request.ts";
import {
  pullRequestAt,
  type RecordedRun,
  type Resolved,
  recordedRun,
  resolvePullRequest,
} from "../../github/pull-request/resolve-pull-request.ts";
import type { Acceptance } from "../../verdict/model/acceptance.ts";
import type { SubAction } from "../sub-action.ts";
import type { RunRecord } from "./notes.ts";

export type FoundPullRequest = Extract<Resolved, { kind: "found" }>;

/** The run that a report is about, and its pull request. */
export interface ReportSource {
  readonly reader: SectionReader;
  readonly pullRequest: Resolved;
  readonly record: RunRecord;
  /** Acceptances of the pull request by accounts with write permission. */
  readonly acceptances: (pullRequest: FoundPullRequest) => Promise<readonly Acceptance[]>;
}

/** Sections of this run (artifact service) or another (REST API). @throws GateError NO_RUN, and client errors */
export async function openSource(action: SubAction, gateId: string, runId: number | null): Promise<ReportSource> {
  if (runId === null) throw usageError("NO_RUN", "GITHUB_RUN_ID is not set", "Run this as a step of a workflow.");
  return runId === action.context.runId ? sameRun(action, gateId, runId) : otherRun(action, gateId, runId);
}

async function sameRun(action: SubAction, gateId: string, runId: number): Promise<ReportSource> {
  const { octokit, context, env } = action;
  const fromEvent = readPullRequest(env);
  let pullRequest: Resolved;
  if (fromEvent !== null) {
    const { number, headSha, fromFork } = fromEvent;
    pullRequest = { kind: "found", number, headSha, fromFork };
  } else {
    const number = context.eventName === "push" ? copiedPullRequest(context.ref) : null;
    pullRequest =
      number === null || context.sha === null
        ? { kind: "none", reason: "this run has no pull request", odd: false }
        : await pullRequestAt(octokit, context, number, context.sha);
  }
  const untrusted = pullRequest.kind === "found" && pullRequest.fromFork && context.eventName !== "push";
  const store = await actionsArtifactStore();
  return {
    reader: sectionReader(store, gateId, { headSha: fromEvent?.headSha ?? null, attempt: context.runAttempt }),
    pullRequest,
    record: { runId, conclusion: null, jobs: null, untrusted },
    acceptances: acceptancesOf(action),
  };
}

async function otherRun(action: SubAction, gateId: string, runId: number): Promise<ReportSource> {
  const { octokit, context, signal } = action;
  const { owner, repo, apiUrl } = context;
  const run = await recordedRun(octokit, { owner, repo }, runId);
  const pullRequest = await resolvePullRequest(octokit, { owner, repo }, run);
  return {
    reader: runSectionReader({ octokit, owner, repo, runId, apiUrl, signal }, run, gateId),
    pullRequest,
    record: {
      runId,
      conclusion: run.conclusion,
      jobs: await jobsOf(action, run),
      untrusted: isUntrusted(run, owner, repo),
    },
    acceptances: acceptancesOf(action),
  };
}

/** On `pull_request` the workflow file is the head's, so the owner of the head controls the run. */
function isUntrusted(run: RecordedRun, owner: string, repo: string): boolean {
  return run.headRepository?.toLowerCase() !== `${owner}/${repo}`.toLowerCase();
}

/** Jobs that did not succeed: a job that may fail (`continue-on-error`) leaves the run itself green. */
async function jobsOf({ octokit, context }: SubAction, run: RecordedRun): Promise<RunRecord["jobs"]> {
  const { owner, repo } = context;
  try {
    const { data } = await octokit.rest.actions.listJobsForWorkflowRun({ owner, repo, run_id: run.id, per_page: 100 });
    const bad = data.jobs.filter(({ conclusion }) =>
      /^(failure|timed_out|cancelled|startup_failure)$/.test(conclusion ?? ""),
    );
    return { failed: bad.length, all: data.total_count };
  } catch {
    // The run's own conclusion is known; this would only add detail.
    return null;
  }
}

/** Where GitHub cannot be asked, nothing is trusted, which is logged. */
function acceptancesOf({ octokit, context, log }: SubAction): ReportSource["acceptances"] {
  const { owner, repo } = context;
  return async ({ number }) => {
    const { accepted, warnings } = await readAcceptances({ octokit, owner, repo }, number);
    for (const line of warnings) log(line);
    return accepted;
  };
}
