import { createHash } from "node:crypto";
import { HttpDouble } from "../http.ts";
import type { GitHubContract } from "../openapi.ts";
import { type Call, NOT_FOUND, type Routes } from "./route.ts";

/** A workflow run as a test describes it; everything else is as in GitHub's official example. */
export interface DoubleRun {
  readonly id: number;
  readonly event: string;
  readonly headSha: string;
  readonly headBranch: string;
  /** `owner/name`; null = deleted. */
  readonly headRepo: string | null;
  readonly conclusion?: string | null;
  readonly attempt?: number;
  /** Repository the run belongs to; default is this one. */
  readonly repo?: string;
  /** Conclusions of its jobs. */
  readonly jobs?: readonly string[];
}

export interface DoubleArtifact {
  readonly id: number;
  readonly runId: number;
  readonly name: string;
  readonly bytes: Uint8Array;
  /** False values for the listing. */
  readonly lies?: {
    readonly digest?: string | null;
    readonly size?: number;
    readonly expired?: boolean;
    readonly runId?: number;
    /** Address of the bytes. */
    readonly location?: string;
  };
}

/** GitHub's store of the bytes: a separate server, which must never receive a token. */
class BlobStore extends HttpDouble {
  readonly blobs = new Map<string, Uint8Array>();

  constructor() {
    super(({ path, authorization }) => {
      if (authorization !== "") this.faults.push("a token was sent to the blob store");
      const raw = this.blobs.get(path);
      if (raw === undefined) return { status: 404 };
      return { status: 200, raw, headers: { "content-type": "application/zip" } };
    });
  }
}

/** Workflow runs of one repository, with their jobs and artifacts. */
export class ActionsDouble {
  readonly runs = new Map<number, DoubleRun>();
  readonly artifacts: DoubleArtifact[] = [];
  readonly store = new BlobStore();
  #nextId = 9000;

  addRun(run: DoubleRun): DoubleRun {
    this.runs.set(run.id, run);
    return run;
  }

  addArtifact(runId: number, name: string, bytes: Uint8Array, lies: NonNullable<DoubleArtifact["lies"]> = {}): number {
    const id = this.#nextId;
    this.#nextId += 1;
    this.artifacts.push({ id, runId, name, bytes, lies });
    this.store.blobs.set(`/blob/${id}`, bytes);
    return id;
  }

  clear(): void {
    this.runs.clear();
    this.artifacts.length = 0;
    this.store.blobs.clear();
  }

  readonly routes: Routes = {
    "/repos/{owner}/{repo}/actions/runs/{run_id}": { GET: (call) => this.#run(call) },
    "/repos/{owner}/{repo}/actions/runs/{run_id}/jobs": { GET: (call) => this.#jobs(call) },
    "/repos/{owner}/{repo}/actions/runs/{run_id}/artifacts": { GET: (call) => this.#list(call) },
    "/repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}": { GET: (call) => this.#download(call) },
  };

  #run({ parameters, contract }: Call) {
    const run = this.runs.get(Number(parameters.run_id));
    if (run === undefined) return NOT_FOUND;
    const example = contract.example("workflow-run") as { repository: object };
    const named = (name: string): object => {
      const [login, short] = name.split("/");
      const { owner } = example.repository as { owner: object };
      return { ...example.repository, full_name: name, name: short, owner: { ...owner, login } };
    };
    const body = {
      ...example,
      id: run.id,
      event: run.event,
      status: run.conclusion === null ? "in_progress" : "completed",
      conclusion: run.conclusion === undefined ? "success" : run.conclusion,
      run_attempt: run.attempt ?? 1,
      head_sha: run.headSha,
      head_branch: run.headBranch,
      repository: named(run.repo ?? "octo/model"),
      // GitHub's OpenAPI description omits that a fork can be deleted.
      ...(run.headRepo === null ? { head_repository: undefined } : { head_repository: named(run.headRepo) }),
    };
    return { status: 200, body: JSON.parse(JSON.stringify(body)) };
  }

  #jobs({ parameters, contract }: Call) {
    const run = this.runs.get(Number(parameters.run_id));
    if (run === undefined) return NOT_FOUND;
    const example = contract.example("job-paginated") as { jobs: readonly object[] };
    const jobs = (run.jobs ?? ["success"]).map((conclusion) => ({
      created_at: "2026-11-20T09:41:12Z",
      ...example.jobs[0],
      run_id: run.id,
      conclusion,
    }));
    return { status: 200, body: { total_count: jobs.length, jobs } };
  }

  #list({ request, parameters, contract, url }: Call) {
    const all = this.artifacts.filter(({ runId }) => runId === Number(parameters.run_id));
    const size = Math.min(100, Number(request.query.get("per_page") ?? 30));
    const page = Number(request.query.get("page") ?? 1);
    const link = `<${url}${request.path}?per_page=${size}&page=${page + 1}>; rel="next"`;
    return {
      status: 200,
      body: {
        total_count: all.length,
        artifacts: all.slice((page - 1) * size, page * size).map((artifact) => renderArtifact(contract, artifact)),
      },
      headers: page * size < all.length ? { link } : {},
    };
  }

  #download({ parameters }: Call) {
    const artifact = this.artifacts.find(({ id }) => id === Number(parameters.artifact_id));
    if (artifact === undefined || parameters.archive_format !== "zip") return NOT_FOUND;
    return {
      status: 302,
      headers: { location: artifact.lies?.location ?? `${this.store.url}/blob/${artifact.id}?sig=secret` },
    };
  }
}

function renderArtifact(contract: GitHubContract, { id, runId, name, bytes, lies }: DoubleArtifact): object {
  const example = contract.example("artifact") as { workflow_run: object };
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  return {
    ...example,
    id,
    name,
    size_in_bytes: lies?.size ?? bytes.length,
    digest: lies?.digest === undefined ? digest : lies.digest,
    expired: lies?.expired ?? false,
    workflow_run: { ...example.workflow_run, id: lies?.runId ?? runId },
  };
}
