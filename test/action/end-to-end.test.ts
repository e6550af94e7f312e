import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { parseSection } from "../../src/report/model/section.ts";
import { GitDataDouble } from "./testing/double/git-data.ts";
import { HistoryDouble } from "./testing/double/history.ts";
import { Permissions } from "./testing/double/permissions.ts";
import { repositoryRoutes } from "./testing/double/repository.ts";
import { GitHubDouble } from "./testing/github-double.ts";
import { Job } from "./testing/job.ts";
import { runStepFile, type StepOptions, type StepResult } from "./testing/mini-runner.ts";
import { ResultsDouble } from "./testing/results-double.ts";
import { actionNode, azuriteBlobScript } from "./testing/tools.ts";
import { directoryHashes, zipHashes } from "./testing/unzip.ts";

/** The committed build, or one of the working tree. */
const DIST = process.env.STORMLOG_TEST_DIST ?? path.join(packageRoot(), "dist");
const WORKLOAD = path.join(packageRoot(), "leak-lab/demo/workload.mjs");
const BOT = "github-actions[bot]";
const PR = 7;

const node = actionNode();
const azurite = azuriteBlobScript();

/** A pull request whose change leaks, and then its fix, judged by the built Action from real measurements. */
describe.skipIf(azurite === null)("a pull request", () => {
  const github = new GitHubDouble();
  const results = new ResultsDouble();
  const pictures = new GitDataDouble();
  let job: Job;
  let workspace: string;

  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
      cwd: workspace,
      encoding: "utf8",
    }).trim();

  const write = (state: "clean" | "leaky" | "fixed"): void =>
    writeFileSync(
      path.join(workspace, "train.mjs"),
      `process.argv[2] = ${JSON.stringify(state)};\nawait import(${JSON.stringify(WORKLOAD)});\n`,
    );

  const commit = (message: string): string => {
    git("add", "--all");
    git("commit", "--quiet", "--allow-empty", "--message", message);
    return git("rev-parse", "HEAD");
  };

  const step = (more: Partial<StepOptions> = {}): Promise<StepResult> =>
    runStepFile({
      node,
      script: path.join(DIST, "action/main.js"),
      cwd: workspace,
      env: { ...job.env, GITHUB_WORKSPACE: workspace, GITHUB_BASE_REF: "main" },
      timeoutMs: 240_000,
      ...more,
    });

  /** A push to the pull request: a new run of the workflow with the step in it. */
  const push = async (state: "leaky" | "fixed", message: string, runId: string): Promise<StepResult> => {
    write(state);
    const head = commit(message);
    github.heads.set(PR, head);
    job.pullRequest(PR, head);
    job.env.GITHUB_RUN_ID = runId;
    results.artifacts.length = 0;
    return step({ inputs: { token: "job", baseline: "file:baselines", scenario: "train" } });
  };

  beforeAll(async () => {
    github.use(pictures.routes).use(repositoryRoutes(false));
    await github.start();
    await results.startWithBlobs(node, azurite as string);
    github.tokens.set("job", { login: BOT, write: true });
    job = new Job(github.url, results.url);
    workspace = path.join(job.directory, "workspace");
    mkdirSync(workspace);
    // GitHub's history is what was pushed, which here is the workspace.
    github.use(new HistoryDouble(path.join(workspace, ".git")).routes).use(new Permissions().routes);
    git("init", "--quiet", "--initial-branch=main");
    writeFileSync(
      path.join(workspace, "stormlog-gate.yml"),
      `scenarios:\n  - name: train\n    run: ${JSON.stringify([process.execPath, "train.mjs"])}\nbaseline: file:baselines\n`,
    );
    write("clean");
    commit("a clean training script");
    execFileSync(process.execPath, [path.join(DIST, "cli.js"), "baseline", "refresh"], {
      cwd: workspace,
      stdio: "pipe",
    });
    commit("its baseline");
    git("checkout", "--quiet", "-b", "change");
  }, 180_000);

  afterAll(async () => {
    await github.stop();
    await results.stop();
    pictures.dispose();
    job.remove();
  });

  it("the built Action fails the job on a leak, with outputs, evidence and one comment", async () => {
    const leaky = await push("leaky", "keep every activation", "1001");
    expect(leaky.code, leaky.log).toBe(4);
    expect(leaky.outputs).toMatchObject({ verdict: "fail", "exit-code": "4", class: "leak" });
    expect(Number(leaky.outputs["peak-bytes"])).toBeGreaterThan(20 * 1024 ** 2);
    expect(Number(leaky.outputs["slope-bytes-per-s"])).toBeGreaterThan(1024 ** 2);
    const checks = JSON.parse(leaky.outputs.results ?? "[]")[0].checks as { verdict: string }[];
    expect(checks.some(({ verdict }) => verdict === "fail")).toBe(true);
    expect(leaky.commands.some(({ command }) => command === "error")).toBe(true);
    expect(leaky.summary).toContain("### ❌ Memory: `train` leaks");
    expect(github.comments).toHaveLength(1);
    expect(github.comments[0]?.body).toMatch(/^<!-- stormlog-gate:default -->\n/);
    const body = github.comments[0]?.body ?? "";
    const picture = pictures.git("rev-parse", `refs/stormlog/images/pr-${PR}`);
    expect(body).toContain(` src="https://github.com/octo/model/blob/${picture}/default.png?raw=true"`);
    expect(body).toContain("**Intended?**");
    expect(body).toContain(`[Evidence bundle](${leaky.outputs["artifact-url"]})`);
    expect(body).toContain(`[Interactive timeline](${leaky.outputs["timeline-url"]})`);
    expect(body.split("\n")[1]).toMatch(/^### ❌ Memory: `train` leaks [\d.]+ [KM]iB/);
    const bundle = leaky.outputs["bundle-path"] ?? "";
    expect(JSON.parse(readFileSync(leaky.outputs["report-path"] ?? "", "utf8")).report_kind).toBe("memory_gate");
    const stored = zipHashes(await results.read("stormlog-default"));
    expect(stored).toEqual(directoryHashes(bundle));
    expect(Object.keys(stored)).toContain("runs/train/1/samples.parquet");
    expect(leaky.outputs["artifact-url"]).toContain("/actions/runs/1001/artifacts/");
    expect(leaky.outputs["timeline-url"]).toContain("/actions/runs/1001/artifacts/");
    const html = await results.read("stormlog-default.html");
    const section = parseSection(await results.read("stormlog-section-default.json"), "section");
    expect(section).toMatchObject({ gateId: "default", leg: null, report: { verdict: "fail" } });
    expect(html.equals(readFileSync(path.join(bundle, "timeline.html")))).toBe(true);
  }, 300_000);

  it("the built Action passes the fix and updates the same comment", async () => {
    const [first] = github.comments;
    const fixed = await push("fixed", "keep summaries only", "1002");
    expect(fixed.code, fixed.log).toBe(0);
    expect(fixed.outputs).toMatchObject({ verdict: "pass", "exit-code": "0" });
    expect(github.comments.map(({ id }) => id)).toEqual([first?.id]);
    const body = github.comments[0]?.body ?? "";
    expect(body.split("\n")[1]).toBe("### ✅ Memory: no regression in `train`");
    const picture = pictures.git("rev-parse", `refs/stormlog/images/pr-${PR}`);
    expect(body).toContain(`/blob/${picture}/default.png?raw=true`);
    // Of two pushes only the first created a comment, which notifies.
    const created = github.requests.filter(({ method, path: at }) => method === "POST" && /\/comments$/.test(at));
    expect(created).toHaveLength(1);
    expect(fixed.commands.some(({ command }) => command === "error")).toBe(false);
    expect([...github.faults, ...results.faults]).toEqual([]);
  }, 300_000);
});
