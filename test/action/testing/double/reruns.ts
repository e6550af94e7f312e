import type { ActionsDouble, DoubleRun } from "./actions.ts";
import { type Call, NOT_FOUND, type Routes } from "./route.ts";

const RUNS = "/repos/{owner}/{repo}/actions/runs";
const WORKFLOW_RUNS = "/repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs";
const RERUN = "/repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs";

/** Lists the runs of an {@link ActionsDouble} and starts their failed jobs again, as far as GitHub would. */
export class Reruns {
  readonly #actions: ActionsDouble;
  /** Runs whose failed jobs were re-run, in order. */
  readonly started: number[] = [];
  /** File name of each run's workflow. */
  readonly workflows = new Map<number, string>();

  constructor(actions: ActionsDouble) {
    this.#actions = actions;
  }

  readonly routes: Routes = {
    [RUNS]: { GET: (call) => this.#list(call, () => true) },
    [WORKFLOW_RUNS]: {
      GET: (call) => this.#list(call, ({ id }) => this.workflows.get(id) === call.parameters.workflow_id),
    },
    [RERUN]: { POST: (call) => this.#rerun(call) },
  };

  #list({ request, contract }: Call, wanted: (run: DoubleRun) => boolean) {
    const head = request.query.get("head_sha");
    const found = [...this.#actions.runs.values()].filter(
      (run) => wanted(run) && (head === null || run.headSha === head),
    );
    const [example] = contract.example("workflow-run-paginated").workflow_runs as readonly object[];
    const runs = found.map((run) => ({
      ...example,
      id: run.id,
      event: run.event,
      head_sha: run.headSha,
      status: run.conclusion === null ? "in_progress" : "completed",
      conclusion: run.conclusion === undefined ? "success" : run.conclusion,
      html_url: `https://github.com/octo/model/actions/runs/${run.id}`,
    }));
    return { status: 200, body: { total_count: runs.length, workflow_runs: runs } };
  }

  #rerun({ parameters }: Call) {
    const run = this.#actions.runs.get(Number(parameters.run_id));
    if (run === undefined) return NOT_FOUND;
    if (run.conclusion === null || run.conclusion === "success") {
      return { status: 403, body: { message: "This workflow run cannot be retried" } };
    }
    this.started.push(run.id);
    return { status: 201, body: {} };
  }
}
