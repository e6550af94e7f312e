import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { getOctokit } from "@actions/github";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addRuns, emptyRecord } from "../../src/baseline/record-changes.ts";
import { serializeRecord } from "../../src/baseline/record-size.ts";
import { recordName } from "../../src/baseline/store.ts";
import { openArtifactStore } from "../../src/github/artifacts/artifact-baselines.ts";
import { ActionsDouble, type DoubleRun } from "./testing/double/actions.ts";
import { repositoryRoutes } from "./testing/double/repository.ts";
import type { Call, Handler } from "./testing/double/route.ts";
import { GitHubDouble } from "./testing/github-double.ts";

const FINGERPRINT = { backend: "cpu" };
const RUN: DoubleRun = {
  id: 1,
  event: "schedule",
  headSha: "a".repeat(40),
  headBranch: "master",
  headRepo: "octo/model",
};
const zipped = ((): boolean => {
  try {
    execFileSync("python3", ["-c", "import zipfile"], { stdio: "pipe" });
    return true;
  } catch {
    return false;
  }
})();

let github: GitHubDouble;
let actions: ActionsDouble;
let directory: string;

function record(session: string): string {
  const series = [{ rank: 0, device: "host", metric: "host" as const, peak_bytes: 1 }];
  const run = { measured: { session, commit: null, series }, timeIso: "2026-11-20T03:00:00Z", approved: true };
  return serializeRecord(addRuns(emptyRecord("train", FINGERPRINT), [run]));
}

/** An archive as another program packs it. */
function zip(files: Readonly<Record<string, string>>): Buffer {
  const root = mkdtempSync(path.join(directory, "zip-"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  const archive = path.join(directory, `${path.basename(root)}.zip`);
  const names = Object.keys(files).map((name) => name.split("/")[0] ?? name);
  execFileSync("python3", ["-m", "zipfile", "-c", archive, ...new Set(names)], { cwd: root });
  return readFileSync(archive);
}

const store = () =>
  openArtifactStore(
    {
      octokit: getOctokit("job", { baseUrl: github.url }),
      ...{ owner: "octo", repo: "model", apiUrl: github.url },
      signal: AbortSignal.timeout(20_000),
    },
    "artifact:baselines",
    "baselines",
  );

const sessions = async (): Promise<readonly string[]> => {
  const { records } = await store().list();
  return records.flatMap(({ record: one }) => one.epochs.flatMap(({ runs }) => runs.map(({ session }) => session)));
};

/** `GET /actions/runs`, from the runs of the double. */
async function listRuns(call: Call): Promise<{ status: number; body: object }> {
  const one = actions.routes["/repos/{owner}/{repo}/actions/runs/{run_id}"]?.GET as Handler;
  const asked = call.request.query;
  const bodies = await Promise.all(
    [...actions.runs.keys()].map(async (id) => (await one({ ...call, parameters: { run_id: String(id) } })).body),
  );
  const shown = (bodies as { head_branch: string; conclusion: string }[]).filter(
    ({ head_branch, conclusion }) => head_branch === asked.get("branch") && conclusion === asked.get("status"),
  );
  return { status: 200, body: { total_count: shown.length, workflow_runs: shown.reverse() } };
}

beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-artifact-"));
  github = new GitHubDouble();
  actions = new ActionsDouble();
  await actions.store.start();
  github
    .use(repositoryRoutes(false))
    .use(actions.routes)
    .use({ "/repos/{owner}/{repo}/actions/runs": { GET: listRuns } });
  await github.start();
  github.tokens.set("job", { login: "github-actions[bot]", write: false });
});

afterEach(async () => {
  await github.stop();
  await actions.store.stop();
  rmSync(directory, { recursive: true, force: true });
  expect([...github.faults, ...actions.store.faults]).toEqual([]);
});

describe.skipIf(!zipped)("baselines in an artifact (packed by Python)", () => {
  it("baselines come from the newest successful run of the default branch that has the artifact", async () => {
    const name = recordName("train", FINGERPRINT);
    for (const id of [1, 2, 3]) actions.addRun({ ...RUN, id });
    actions.addArtifact(1, "baselines", zip({ [name]: record("old") }));
    actions.addArtifact(2, "baselines", zip({ [`baselines/${name}`]: record("newer"), "README.md": "no record" }));
    actions.addArtifact(3, "something else", zip({ [name]: record("else") }));
    expect(await sessions()).toEqual(["newer"]);
  });

  it("baselines never come from a pull request, a fork, a failed run or another branch", async () => {
    const bytes = zip({ [recordName("train", FINGERPRINT)]: record("foreign") });
    const foreign: Partial<DoubleRun>[] = [
      { event: "pull_request" },
      { event: "workflow_run" },
      { conclusion: "failure" },
      { headBranch: "feature" },
      { headRepo: "mallory/model" },
    ];
    for (const [at, one] of foreign.entries()) {
      actions.addRun({ ...RUN, ...one, id: at + 1 });
      actions.addArtifact(at + 1, "baselines", bytes);
    }
    expect(await store().list()).toEqual({ exists: false, records: [], skipped: [] });
  });

  it("damaged baselines are skipped by name, and bytes that differ from the upload are refused", async () => {
    actions.addRun(RUN);
    const name = recordName("train", FINGERPRINT);
    actions.addArtifact(1, "baselines", zip({ [name]: "{", [recordName("serve", {})]: record("fine") }));
    const { records, skipped } = await store().list();
    expect([records.length, skipped.join()]).toEqual([1, expect.stringContaining(`${name} is not complete JSON`)]);
    actions.artifacts.length = 0;
    actions.addArtifact(1, "baselines", zip({ [name]: record("x") }), { digest: `sha256:${"0".repeat(64)}` });
    await expect(store().list()).rejects.toMatchObject({ code: "BASELINE_STORE_UNREADABLE", kind: "error" });
  });

  it("an artifact store of baselines is read-only and names the missing permission", async () => {
    await expect(store().update("train", FINGERPRINT, () => emptyRecord("", {}))).rejects.toMatchObject({
      code: "BASELINE_STORE_UNWRITABLE",
    });
    github.failure = ({ path: asked }) =>
      asked.includes("/actions/") ? { kind: "status", status: 403, message: "Resource not accessible" } : null;
    await expect(store().list()).rejects.toMatchObject({ message: expect.stringContaining("actions: read") });
  });
});
