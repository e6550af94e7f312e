import { createHash } from "node:crypto";
import { invalidInput } from "../../core/errors.ts";
import { bodyOf } from "../api/bounded-fetch.ts";
import type { Octokit } from "../api/octokit.ts";
import type { Repository } from "../api/run-context.ts";

/** An artifact as GitHub lists it. Its name is whatever the run chose; everything else is GitHub's own. */
export interface RunArtifact {
  readonly id: number;
  readonly name: string;
  readonly bytes: number;
  /** `sha256:…` of the stored bytes; null where GitHub does not report it. */
  readonly digest: string | null;
  readonly expired: boolean;
}

export interface ArtifactSource extends Repository {
  readonly octokit: Octokit;
  /** Only artifacts of this run are looked at, whatever they are called. */
  readonly runId: number;
  /** Address of the API: stored bytes are never fetched over a weaker protocol than it has. */
  readonly apiUrl: string;
  readonly signal: AbortSignal;
}

/** GitHub keeps 500 artifacts of a job; a listing beyond this is an attack. */
const MAX_LISTED = 5000;

/** The artifacts of one run, the newest first. @throws what the client throws */
export async function listRunArtifacts(source: ArtifactSource): Promise<readonly RunArtifact[]> {
  const { octokit, owner, repo, runId } = source;
  const listed = new Map<number, RunArtifact>();
  const pages = octokit.paginate.iterator(octokit.rest.actions.listWorkflowRunArtifacts, {
    owner,
    repo,
    run_id: runId,
    per_page: 100,
  });
  for await (const { data } of pages) {
    for (const artifact of data) {
      // An artifact of another run in the listing of this one is not used.
      if (artifact.workflow_run?.id !== undefined && artifact.workflow_run.id !== runId) continue;
      listed.set(artifact.id, {
        id: artifact.id,
        name: artifact.name,
        bytes: artifact.size_in_bytes,
        digest: artifact.digest ?? null,
        expired: artifact.expired,
      });
    }
    if (listed.size >= MAX_LISTED) break;
  }
  return [...listed.values()].sort((a, b) => b.id - a.id);
}

function refused(artifact: RunArtifact, why: string) {
  const where = `artifact ${artifact.id}`;
  return invalidInput("ARTIFACT_REFUSED", `${where} ${why}`, where);
}

/** Where GitHub keeps the bytes: a signed address, to which no token of ours goes. */
async function storedAt(source: ArtifactSource, artifact: RunArtifact): Promise<URL> {
  const { octokit, owner, repo, apiUrl } = source;
  const answer = await octokit.rest.actions.downloadArtifact({
    owner,
    repo,
    artifact_id: artifact.id,
    archive_format: "zip",
    request: { redirect: "manual" },
  });
  const { location } = answer.headers;
  if (location === undefined || !URL.canParse(location)) throw refused(artifact, "has no address");
  const url = new URL(location);
  if (url.protocol !== "https:" && url.protocol !== new URL(apiUrl).protocol) {
    throw refused(artifact, "is kept at an address that is not encrypted");
  }
  return url;
}

/** How the client itself reaches the network: through the runner's proxy where there is one. */
function fetchOf(octokit: Octokit): typeof fetch {
  const { request } = octokit.request.endpoint.DEFAULTS as { readonly request?: { readonly fetch?: typeof fetch } };
  return request?.fetch ?? fetch;
}

/** Stored bytes (zip or raw file) that match their digest. @throws GateError ARTIFACT_REFUSED, client errors */
export async function downloadRunArtifact(
  source: ArtifactSource,
  artifact: RunArtifact,
  maxBytes: number,
): Promise<Buffer> {
  if (artifact.expired) throw refused(artifact, "has expired");
  const tooLarge = () => refused(artifact, `is larger than ${maxBytes} bytes`);
  if (artifact.bytes > maxBytes) throw tooLarge();
  const digest = /^sha256:([0-9a-f]{64})$/.exec(artifact.digest ?? "")?.[1];
  if (digest === undefined) throw refused(artifact, "has no digest by which its bytes could be checked");
  const url = await storedAt(source, artifact);
  const response = await fetchOf(source.octokit)(url.href, { redirect: "error", signal: source.signal });
  if (!response.ok) {
    await response.body?.cancel();
    throw refused(artifact, `could not be fetched: the store answered ${response.status}`);
  }
  const bytes = await bodyOf(response, maxBytes, tooLarge);
  if (createHash("sha256").update(bytes).digest("hex") !== digest) {
    throw refused(artifact, "is not what was uploaded: its digest does not match");
  }
  return bytes;
}
