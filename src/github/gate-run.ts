import { listRunArtifacts } from "./artifacts/artifact-download.ts";
import type { Octokit } from "./octokit.ts";
import type { Repository } from "./run-context.ts";

/** A workflow run that measured a commit. */
export interface GateRun {
  readonly id: number;
  readonly url: string;
  /** False while any of its jobs is under way: it can not be run again then. */
  readonly finished: boolean;
  readonly failed: boolean;
}

export interface GateRunQuery extends Repository {
  readonly octokit: Octokit;
  readonly apiUrl: string;
  readonly signal: AbortSignal;
  readonly gateId: string;
  /** File name or id of the workflow; null = any that left artifacts of the gate. */
  readonly workflow: string | null;
  readonly headSha: string;
  /** The run that asks. */
  readonly ownRun: number | null;
}

/** Runs looked into for artifacts of the gate. */
const MAX_LOOKED_INTO = 20;
/** Events whose runs measure the head of a pull request; `push` is that of copy-pr-bot's branches. */
const MEASURING = new Set(["pull_request", "push", "workflow_dispatch", "merge_group"]);

async function runsOf({ octokit, owner, repo, workflow, headSha, ownRun }: GateRunQuery) {
  const asked = { owner, repo, head_sha: headSha, per_page: 100 };
  const { data } =
    workflow === null
      ? await octokit.rest.actions.listWorkflowRunsForRepo(asked)
      : await octokit.rest.actions.listWorkflowRuns({ ...asked, workflow_id: workflow });
  return data.workflow_runs
    .filter((run) => run.head_sha === headSha && run.id !== ownRun && MEASURING.has(run.event))
    .sort((a, b) => b.id - a.id);
}

/** Whether a run left an artifact that is named as those of the gate are; what is in it is not looked at. */
async function leftEvidence(query: GateRunQuery, runId: number): Promise<boolean> {
  const listed = await listRunArtifacts({ ...query, runId });
  const names = [`stormlog-section-${query.gateId}`, `stormlog-${query.gateId}`];
  return listed.some(({ name }) =>
    names.some((start) => name.startsWith(start) && /^(?:$|[.-])/.test(name.slice(start.length))),
  );
}

/** The newest run of the gate for a commit; null when there is none. @throws what the client throws */
export async function newestGateRun(query: GateRunQuery): Promise<GateRun | null> {
  const runs = await runsOf(query);
  for (const run of runs.slice(0, MAX_LOOKED_INTO)) {
    if (query.workflow === null && !(await leftEvidence(query, run.id))) continue;
    const failed = run.conclusion !== "success" && run.conclusion !== "skipped" && run.conclusion !== "neutral";
    return { id: run.id, url: run.html_url, finished: run.status === "completed", failed };
  }
  return null;
}

/** Run the failed jobs of a run again, and the jobs that depend on them. @throws what the client throws */
export async function runFailedJobsAgain(
  { octokit, owner, repo }: Pick<GateRunQuery, "octokit" | "owner" | "repo">,
  run: GateRun,
): Promise<void> {
  await octokit.rest.actions.reRunWorkflowFailedJobs({ owner, repo, run_id: run.id });
}
