import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { BaselineAnswer } from "../../src/baseline/answer.ts";
import type { LoadContext } from "../../src/baseline/from-store.ts";
import { openGitStore } from "../../src/baseline/git-store.ts";
import { loadFirstBaseline } from "../../src/baseline/load.ts";
import { addRuns, emptyRecord, type NewRun } from "../../src/baseline/record-changes.ts";
import { type HistoryPort, viewRepository } from "../../src/git/repository-view.ts";
import { connect, loadClient } from "../../src/github/api/octokit.ts";
import { runContext } from "../../src/github/api/run-context.ts";
import { openCommitHistory } from "../../src/github/repository/commit-history.ts";
import { openGitData } from "../../src/github/repository/git-data-client.ts";
import { openRefStore } from "../../src/github/repository/ref-store.ts";
import { GitDataDouble } from "./testing/double/git-data.ts";
import { HistoryDouble } from "./testing/double/history.ts";
import { GitHubDouble } from "./testing/github-double.ts";

const REF = "refs/stormlog/baselines";
const REPOSITORY = { owner: "octo", repo: "model" };
const FINGERPRINT = { backend: "cpu" };
const NOW = new Date("2026-11-21T12:00:00Z");

let github: GitHubDouble;
let origin: GitDataDouble;
let directory: string;
let work: string;

function git(...args: readonly string[]): string {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
  return execFileSync("git", ["-C", work, ...identity, ...args], { encoding: "utf8", stdio: "pipe" }).trim();
}

function commit(message: string): string {
  git("commit", "--quiet", "--allow-empty", "-m", message);
  return git("rev-parse", "HEAD");
}

/** A job's checkout: one commit, and no other branch. */
function shallowClone(ref: string): string {
  const clone = path.join(directory, `clone-${ref.replaceAll("/", "-")}`);
  execFileSync("git", ["init", "--quiet", clone]);
  const at = (...args: readonly string[]) => execFileSync("git", ["-C", clone, ...args], { stdio: "pipe" });
  at("fetch", "--quiet", "--depth=1", `file://${origin.directory}`, ref);
  at("checkout", "--quiet", "--detach", "FETCH_HEAD");
  return clone;
}

function run(name: string, sha: string): NewRun {
  const series = [{ rank: 0, device: "host", metric: "host" as const, peak_bytes: 1_000_000 }];
  return { measured: { session: name, commit: sha, series }, timeIso: "2026-11-20T03:00:00Z", approved: true };
}

async function keep(...runs: readonly NewRun[]): Promise<void> {
  const store = openGitStore(`ref:${REF}`, origin.directory, REF);
  await store.update("train", FINGERPRINT, (current) => addRuns(current ?? emptyRecord("train", FINGERPRINT), runs));
}

const client = await loadClient();

type Where = LoadContext & { readonly history?: HistoryPort };

function context(root: string, env: Readonly<Record<string, string>> = {}): Where {
  const octokit = connect(client, {
    token: "job",
    context: runContext({ GITHUB_API_URL: github.url }),
    signal: AbortSignal.timeout(25_000),
    maxWaitS: 1,
    log: () => {},
  });
  return {
    root,
    env,
    now: () => NOW,
    openRef: (name, ref) => openRefStore(openGitData(octokit, REPOSITORY), name, ref),
    history: openCommitHistory(octokit, REPOSITORY, env.GITHUB_REF ?? null),
  };
}

const load = async ({ history, ...where }: Where): Promise<BaselineAnswer> =>
  loadFirstBaseline([`ref:${REF}`], "train", FINGERPRINT, {
    ...where,
    repository: await viewRepository(where.root, where.env, history),
  });

const sessions = (answer: BaselineAnswer): readonly string[] =>
  answer.kind === "found" ? answer.measurements.runs.map(({ session }) => session) : [answer.reason];

beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-history-"));
  work = path.join(directory, "work");
  github = new GitHubDouble();
  origin = new GitDataDouble();
  origin.delayMs = 0;
  github.use(origin.routes).use(new HistoryDouble(origin.directory).routes);
  await github.start();
  github.tokens.set("job", { login: "github-actions[bot]", write: false });
  execFileSync("git", ["init", "--quiet", "--initial-branch=main", work]);
  git("remote", "add", "origin", origin.directory);
});

afterEach(async () => {
  await github.stop();
  origin.dispose();
  rmSync(directory, { recursive: true, force: true });
  expect(github.faults).toEqual([]);
});

describe("a shallow clone queries GitHub for the baseline runs that count", () => {
  it("a shallow clone of a pull request counts the runs before the merge base only", async () => {
    const base = commit("base");
    git("checkout", "--quiet", "-b", "feature");
    const change = commit("change");
    git("checkout", "--quiet", "main");
    const later = commit("later");
    git("push", "--quiet", "origin", "main", "feature");
    await keep(run("base", base), run("change", change), run("later", later));
    const answer = await load(context(shallowClone("feature"), { GITHUB_BASE_REF: "main" }));
    expect(sessions(answer)).toEqual(["base"]);
    expect(answer.warnings).toEqual([]);
  });

  it("a shallow clone of a merge commit counts runs up to the main branch that it merges", async () => {
    const base = commit("base");
    git("checkout", "--quiet", "-b", "feature");
    commit("change");
    git("checkout", "--quiet", "main");
    const merged = commit("merged with");
    git("checkout", "--quiet", "-b", "merge");
    git("merge", "--quiet", "--no-ff", "-m", "merge", "feature");
    git("push", "--quiet", "origin", "main", "merge:refs/pull/7/merge");
    await keep(run("base", base), run("merged with", merged));
    const answer = await load(context(shallowClone("refs/pull/7/merge"), { GITHUB_BASE_REF: "main" }));
    expect(sessions(answer)).toEqual(["base", "merged with"]);
  });

  it("a shallow clone of the main branch counts the runs before its commit", async () => {
    const first = commit("first");
    const second = commit("second");
    const third = commit("third");
    git("push", "--quiet", "origin", "main", `${second}:refs/heads/old`);
    await keep(run("first", first), run("second", second), run("third", third));
    expect(sessions(await load(context(shallowClone("old"))))).toEqual(["first", "second"]);
  });

  it("a shallow clone does not count runs of a branch that was squash-merged", async () => {
    const base = commit("base");
    git("checkout", "--quiet", "-b", "feature");
    const change = commit("change");
    git("checkout", "--quiet", "main");
    const squashed = commit("squashed");
    git("push", "--quiet", "origin", "main", "feature");
    await keep(run("base", base), run("change", change), run("squashed", squashed));
    expect(sessions(await load(context(shallowClone("main"))))).toEqual(["base", "squashed"]);
  });

  it("a shallow clone does not count runs of commits that a force push removed", async () => {
    commit("root");
    const dropped = commit("dropped");
    git("push", "--quiet", "origin", "main");
    await keep(run("dropped", dropped));
    git("reset", "--quiet", "--hard", "HEAD^");
    commit("instead");
    git("push", "--quiet", "--force", "origin", "main");
    const answer = await load(context(shallowClone("main")));
    expect(answer).toMatchObject({ kind: "absent", reason: expect.stringContaining("on an ancestor") });
    expect(answer).toMatchObject({ nextStep: expect.stringContaining("baseline refresh") });
  });

  it("a shallow clone of pull-request/<N> compares with the base branch of pull request N", async () => {
    const base = commit("base");
    git("checkout", "--quiet", "-b", "release");
    const released = commit("released");
    git("checkout", "--quiet", "-b", "pull-request/7");
    const change = commit("change");
    git("push", "--quiet", "origin", "main", "release", "pull-request/7");
    const example = github.contract.example("pull-request").base as object;
    github.pulls.all.set(7, { headSha: change, overrides: { base: { ...example, ref: "release" } } });
    await keep(run("base", base), run("released", released), run("change", change));
    const env = { GITHUB_REF: "refs/heads/pull-request/7", GITHUB_EVENT_NAME: "push" };
    expect(sessions(await load(context(shallowClone("pull-request/7"), env)))).toEqual(["base", "released"]);
  });

  it("a shallow clone counts all runs, with a note, when GitHub does not answer", async () => {
    const base = commit("base");
    git("push", "--quiet", "origin", "main");
    await keep(run("base", base), run("unknown", "0123456789abcdef0123456789abcdef01234567"));
    const where = context(shallowClone("main"));
    github.failure = ({ path: asked }) =>
      asked.endsWith("/commits") ? { kind: "status", status: 403, message: "Resource not accessible" } : null;
    const answer = await load(where);
    expect(sessions(answer)).toEqual(["base", "unknown"]);
    expect(answer.warnings).toEqual([expect.stringMatching(/not checked against the history.*contents: read/)]);
  });

  it("a shallow clone reads history by pages and queries the remaining commits one by one", async () => {
    const oldest = commit("oldest");
    const tree = git("rev-parse", "HEAD^{tree}");
    const lines = ["commit refs/heads/main"];
    for (let n = 0; n < 320; n += 1) {
      lines.push("committer t <t@example.org> 1700000000 +0000", "data 1", "x");
      lines.push(n === 0 ? `from ${oldest}` : "", `M 040000 ${tree} `, "commit refs/heads/main");
    }
    lines.pop();
    const stream = lines.filter((line) => line !== "").join("\n");
    execFileSync("git", ["-C", work, "fast-import", "--quiet", "--force"], { input: `${stream}\n`, stdio: "pipe" });
    git("push", "--quiet", "origin", "main");
    await keep(run("oldest", oldest), run("newest", git("rev-parse", "main")));
    github.requests.length = 0;
    expect(sessions(await load(context(shallowClone("main"))))).toEqual(["oldest", "newest"]);
    const asked = github.requests.map(({ path: one }) => one.split("/")[4] ?? "");
    expect(asked.filter((one) => one === "commits")).toHaveLength(3);
    expect(asked.filter((one) => one === "compare")).toHaveLength(1);
  });
});
