import { type BaselineStore, contentOf, recordName, type StoreContent, unwritable } from "../../baseline/store.ts";
import { withDeadline } from "../api/deadline.ts";
import { unreadableStore } from "../api/degrade.ts";
import type { Octokit } from "../api/octokit.ts";
import type { Repository } from "../api/run-context.ts";
import { downloadRunArtifact, listRunArtifacts, type RunArtifact } from "./artifact-download.ts";

/** Baselines are small: 20 kB a record. */
const MAX_ARCHIVE_BYTES = 16 * 1024 * 1024;
/** Events whose runs execute what is on the branch itself; a pull request's head may be called like it. */
const OWN_EVENTS: ReadonlySet<string> = new Set(["push", "schedule", "workflow_dispatch"]);

export interface ArtifactBaselineSource extends Repository {
  readonly octokit: Octokit;
  readonly apiUrl: string;
  readonly signal: AbortSignal;
}

/** `artifact:NAME`: newest artifact of this name of a successful run on the default branch. Read only. */
export function openArtifactStore(source: ArtifactBaselineSource, name: string, artifact: string): BaselineStore {
  let content: Promise<StoreContent> | undefined;
  const read = async (): Promise<StoreContent> => {
    try {
      // Maximum time of the search and download, milliseconds.
      return await withDeadline({ ms: 60_000 }, () => find(source, artifact));
    } catch (error) {
      throw unreadableStore(name, "actions: read", error);
    }
  };
  return {
    name,
    kind: "artifact",
    /** An artifact never changes: it is read once, and one that could not be read is not waited for again. */
    list() {
      content ??= read();
      return content;
    },
    async update() {
      throw unwritable(name, "an artifact is only read");
    },
  };
}

async function find(asked: ArtifactBaselineSource, artifact: string): Promise<StoreContent> {
  for (const runId of await ownRuns(asked)) {
    const source = { ...asked, runId };
    const found = (await listRunArtifacts(source)).find(({ name, expired }) => name === artifact && !expired);
    if (found !== undefined) return records(await downloadRunArtifact(source, found, MAX_ARCHIVE_BYTES), found);
  }
  return { exists: false, records: [], skipped: [] };
}

/** The newest successful runs of the default branch that ran this repository's own code. */
async function ownRuns({ octokit, owner, repo }: ArtifactBaselineSource): Promise<readonly number[]> {
  const { data } = await octokit.rest.repos.get({ owner, repo });
  const branch = data.default_branch;
  const own = `${owner}/${repo}`.toLowerCase();
  const asked = { owner, repo, branch, status: "success", per_page: 100 } as const;
  const listed = await octokit.rest.actions.listWorkflowRunsForRepo(asked);
  return listed.data.workflow_runs
    .filter(
      (run) =>
        run.conclusion === "success" &&
        run.head_branch === branch &&
        OWN_EVENTS.has(run.event) &&
        run.head_repository?.full_name.toLowerCase() === own,
    )
    .slice(0, 30)
    .map(({ id }) => id);
}

async function records(bytes: Buffer, { id, name }: RunArtifact): Promise<StoreContent> {
  // Loaded when there is something to unpack.
  const { looksZipped, readRecords } = await import("./zip-entry.ts");
  if (looksZipped(bytes)) return contentOf(await readRecords(bytes, `artifact ${id}`));
  // A single record, uploaded as it is: its path in a store follows from its content.
  const { records, skipped } = contentOf([{ name, text: bytes.toString("utf8") }]);
  const placed = records.map(({ record }) => ({ name: recordName(record.scenario, record.fingerprint), record }));
  return { exists: true, records: placed, skipped };
}
