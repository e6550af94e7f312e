import { listRunArtifacts } from "./artifacts/artifact-download.ts";
import { runSectionReader } from "./artifacts/run-sections.ts";
import { sectionName } from "./artifacts/section-artifacts.ts";
import type { RepositoryClient } from "./pull-request/permission.ts";
import { recordedRun } from "./pull-request/resolve-pull-request.ts";

/** A workflow run that measured a commit. */
export interface GateRun {
  readonly id: number;
  readonly url: string;
  /** False while any of its jobs is under way: it can not be run again then. */
  readonly finished: boolean;
  readonly failed: boolean;
}

export interface GateRunQuery extends RepositoryClient {
  readonly apiUrl: string;
  readonly signal: AbortSignal;
  readonly gateId: string;
  /** File name or id of the workflow; null = any that left artifacts of the gate. */
  readonly workflow: string | null;
  readonly headSha: string;
  /** The run that asks. */
  readonly ownRun: number | null;
}

async function runsOf({ octokit, owner, repo, workflow, headSha, ownRun }: GateRunQuery) {
  const asked = { owner, repo, head_sha: headSha, per_page: 100 };
  const { data } =
    workflow === null
      ? await octokit.rest.actions.listWorkflowRunsForRepo(asked)
      : await octokit.rest.actions.listWorkflowRuns({ ...asked, workflow_id: workflow });
  // Events whose runs measure the head of a pull request; `push` is that of copy-pr-bot's branches.
  const events = ["pull_request", "push", "workflow_dispatch", "merge_group"];
  return data.workflow_runs
    .filter((run) => run.head_sha === headSha && run.id !== ownRun && events.includes(run.event))
    .sort((a, b) => b.id - a.id);
}

/** Whether a run left evidence of the gate. */
async function leftEvidence(query: GateRunQuery, runId: number): Promise<boolean> {
  const { octokit, owner, repo, gateId } = query;
  const source = { ...query, runId };
  const names = (await listRunArtifacts(source)).map(({ name }) => name);
  const section = sectionName(gateId, null);
  const alike = (start: string) =>
    names.filter((name) => name.startsWith(start) && /^(?:$|[.-])/.test(name.slice(start.length)));
  const sections = alike(section);
  if (sections.length === 0) return alike(`stormlog-${gateId}`).length > 0;
  if (sections.includes(`${section}.json`)) return true;
  // Gate "a" with leg "b" and gate "a-b" look alike until they are read.
  const recorded = await recordedRun(octokit, { owner, repo }, runId);
  return (await runSectionReader(source, recorded, gateId).read()).length > 0;
}

/** The newest run of the gate for a commit; null when there is none. @throws what the client throws */
export async function newestGateRun(query: GateRunQuery): Promise<GateRun | null> {
  const runs = await runsOf(query);
  // Runs looked into for artifacts of the gate.
  for (const run of runs.slice(0, 20)) {
    if (query.workflow === null && !(await leftEvidence(query, run.id))) continue;
    return gateRun(run);
  }
  return null;
}

function gateRun(run: {
  readonly id: number;
  readonly html_url: string;
  readonly status: string | null;
  readonly conclusion: string | null;
}): GateRun {
  const failed = run.conclusion !== "success" && run.conclusion !== "skipped" && run.conclusion !== "neutral";
  return { id: run.id, url: run.html_url, finished: run.status === "completed", failed };
}

/** A run as it is now. @throws what the client throws */
export async function sameRunNow({ octokit, owner, repo }: RepositoryClient, { id }: GateRun): Promise<GateRun> {
  const { data } = await octokit.rest.actions.getWorkflowRun({ owner, repo, run_id: id });
  return gateRun(data);
}

/** Whether a job of a run has failed, without reading what was accepted later. @throws what the client throws */
export async function hasFailedJob({ octokit, owner, repo }: RepositoryClient, { id }: GateRun): Promise<boolean> {
  const asked = { owner, repo, run_id: id, filter: "latest", per_page: 100 } as const;
  const { data } = await octokit.rest.actions.listJobsForWorkflowRun(asked);
  return data.jobs.some(({ conclusion }) => conclusion === "failure");
}

/** Run the failed jobs of a run again, and the jobs that depend on them. @throws what the client throws */
export async function runFailedJobsAgain({ octokit, owner, repo }: RepositoryClient, { id }: GateRun): Promise<void> {
  await octokit.rest.actions.reRunWorkflowFailedJobs({ owner, repo, run_id: id });
}
