import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { parseSection } from "../../src/report/documents/section.ts";
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

/** What is committed, or a build of the working tree. */
const DIST = process.env.STORMLOG_TEST_DIST ?? path.join(packageRoot(), "dist");
const PYTHON = "/usr/bin/python3";

/** What is trained: the script a scenario runs, in the state that a commit leaves it in. */
interface Workload {
  readonly name: string;
  readonly file: string;
  readonly argv: readonly string[];
  readonly source: (state: "clean" | "leaky" | "fixed") => string;
}

const NODE_WORKLOAD: Workload = {
  name: "the demo's loop in Node",
  file: "train.mjs",
  argv: [process.execPath, "train.mjs"],
  source: (state) =>
    `process.argv[2] = ${JSON.stringify(state)};\nawait import(${JSON.stringify(path.join(packageRoot(), "leak-lab/demo/workload.mjs"))});\n`,
};

const TORCH_WORKLOAD: Workload = {
  name: "the walkthrough in PyTorch",
  file: "train.py",
  argv: [PYTHON, "train.py"],
  source: (state) =>
    [
      "import runpy, sys",
      `sys.argv = ["train.py", "--device", "cpu", "--state", ${JSON.stringify(state === "clean" ? "baseline" : state)}]`,
      `runpy.run_path(${JSON.stringify(path.join(packageRoot(), "leak-lab/walkthrough/train.py"))}, run_name="__main__")`,
      "",
    ].join("\n"),
};

const hasTorch = existsSync(PYTHON) && spawnSync(PYTHON, ["-c", "import torch"]).status === 0;
const WORKLOADS = hasTorch ? [NODE_WORKLOAD, TORCH_WORKLOAD] : [NODE_WORKLOAD];
const BOT = "github-actions[bot]";
const PR = 7;

const node = actionNode();
const azurite = azuriteBlobScript();

/** The story of a pull request: a change that leaks is pushed twice, then its fix. All by the built Action, all measured. */
describe.skipIf(azurite === null).each(WORKLOADS)("the built Action on a pull request, with $name", (workload) => {
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
    writeFileSync(path.join(workspace, workload.file), workload.source(state));

  const commit = (message: string): string => {
    git("add", "--all");
    git("commit", "--quiet", "--allow-empty", "--message", message);
    return git("rev-parse", "HEAD");
  };

  const step = (script: "main" | "post", more: Partial<StepOptions> = {}): Promise<StepResult> =>
    runStepFile({
      node,
      script: path.join(DIST, "action", `${script}.js`),
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
    return step("main", { inputs: { token: "job", baseline: "file:baselines", scenario: "train" } });
  };

  beforeAll(async () => {
    github.use(pictures.routes).use(repositoryRoutes(false));
    await github.start();
    await results.startWithBlobs(node, azurite as string);
    github.tokens.set("job", { login: BOT, write: true });
    job = new Job(github.url, results.url);
    workspace = path.join(job.directory, "workspace");
    mkdirSync(workspace);
    // What GitHub knows of the history is what was pushed, which here is the workspace itself.
    github.use(new HistoryDouble(path.join(workspace, ".git")).routes).use(new Permissions().routes);
    git("init", "--quiet", "--initial-branch=main");
    writeFileSync(
      path.join(workspace, "stormlog-gate.yml"),
      `scenarios:\n  - name: train\n    run: ${JSON.stringify(workload.argv)}\nbaseline: file:baselines\n`,
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

  it("fails the job on the leak, with outputs, evidence and one comment", async () => {
    const leaky = await push("leaky", "keep every activation", "1001");
    expect(leaky.code, leaky.log).toBe(4);
    expect(leaky.outputs).toMatchObject({ verdict: "fail", "exit-code": "4", class: "leak" });
    expect(Number(leaky.outputs["peak-bytes"])).toBeGreaterThan(20 * 1024 ** 2);
    expect(Number(leaky.outputs["slope-bytes-per-s"])).toBeGreaterThan(1024 ** 2);
    const checks = JSON.parse(leaky.outputs.results ?? "[]")[0].checks as { verdict: string }[];
    expect(checks.some(({ verdict }) => verdict === "fail")).toBe(true);
    expect(leaky.commands.some(({ command }) => command === "error")).toBe(true);
    expect(leaky.summary).toContain("fail");
    expect(github.comments).toHaveLength(1);
    expect(github.comments[0]?.body).toMatch(/^<!-- stormlog-gate:default -->\n/);
    const body = github.comments[0]?.body ?? "";
    const picture = pictures.git("rev-parse", `refs/stormlog/images/pr-${PR}`);
    expect(body).toContain(`](https://github.com/octo/model/blob/${picture}/default.png?raw=true)`);
    expect(body).toContain("**What to do next**");
    expect(body).toContain(`[Evidence bundle](${leaky.outputs["artifact-url"]})`);
    expect(body).toContain(`[Interactive timeline](${leaky.outputs["timeline-url"]})`);
    expect(body).toMatch(/\*\*Findings\*\*|\*\*The line that grows\*\*/);
    const bundle = leaky.outputs["bundle-path"] ?? "";
    expect(JSON.parse(readFileSync(leaky.outputs["report-path"] ?? "", "utf8")).report_kind).toBe("memory_gate");
    const stored = zipHashes(await results.read("stormlog-default"));
    expect(stored).toEqual(directoryHashes(bundle));
    expect(Object.keys(stored)).toContain("runs/train/1/samples.parquet");
    expect(leaky.outputs["artifact-url"]).toContain("/actions/runs/1001/artifacts/");
    expect(leaky.outputs["timeline-url"]).toContain("/actions/runs/1001/artifacts/");
    const html = await results.read("stormlog-default.html");
    const section = parseSection(await results.read("stormlog-section-default.json"), "section");
    expect(section).toMatchObject({ gateId: "default", leg: null, report: { word: "fail" } });
    expect(html.equals(readFileSync(path.join(bundle, "timeline.html")))).toBe(true);
    expect(await step("post", { state: leaky.state })).toMatchObject({ code: 0, commands: [] });
  }, 300_000);

  it("keeps the same comment when the leak is pushed again", async () => {
    const [first] = github.comments;
    const again = await push("leaky", "more of the same", "1002");
    expect(again.code, again.log).toBe(4);
    expect(github.comments.map(({ id }) => id)).toEqual([first?.id]);
  }, 300_000);

  it("passes the fix, in the same comment", async () => {
    const [first] = github.comments;
    const fixed = await push("fixed", "keep summaries only", "1003");
    expect(fixed.code, fixed.log).toBe(0);
    expect(fixed.outputs).toMatchObject({ verdict: "pass", "exit-code": "0" });
    expect(github.comments.map(({ id }) => id)).toEqual([first?.id]);
    const body = github.comments[0]?.body ?? "";
    expect(body.split("\n")[1]).toBe("## ✅ Memory gate: pass · train");
    const picture = pictures.git("rev-parse", `refs/stormlog/images/pr-${PR}`);
    expect(body).toContain(`/blob/${picture}/default.png?raw=true`);
    // Of three pushes only the first notified anybody.
    const created = github.requests.filter(({ method, path: at }) => method === "POST" && /\/comments$/.test(at));
    expect(created).toHaveLength(1);
    expect(fixed.commands.some(({ command }) => command === "error")).toBe(false);
    expect([...github.faults, ...results.faults]).toEqual([]);
  }, 300_000);

  it("leaves a bundle and no child within 5 s when it is cancelled, and post uploads it", async () => {
    job.env.GITHUB_RUN_ID = "1004";
    results.artifacts.length = 0;
    const pidFile = path.join(workspace, "pid");
    const cancelled = await step("main", {
      inputs: {
        token: "job",
        run: `echo $$ > ${pidFile}; trap '' INT TERM; while :; do sleep 0.2; done`,
        baseline: "none",
      },
      cancel: async () => {
        while (!existsSync(pidFile)) await new Promise((resolve) => setTimeout(resolve, 50));
        await new Promise((resolve) => setTimeout(resolve, 500));
      },
    });
    expect(cancelled).toMatchObject({ code: 130, outputs: { "exit-code": "130" } });
    expect(cancelled.secondsAfterCancel).toBeLessThan(6);
    expect(existsSync(`/proc/${readFileSync(pidFile, "utf8").trim()}`)).toBe(false);
    expect(existsSync(path.join(cancelled.outputs["bundle-path"] ?? "", "manifest.json"))).toBe(true);
    expect(results.artifacts).toEqual([]);
    expect(await step("post", { state: cancelled.state })).toMatchObject({ code: 0 });
    expect(zipHashes(await results.read("stormlog-default"))).toEqual(
      directoryHashes(cancelled.outputs["bundle-path"] ?? ""),
    );
  }, 60_000);

  it("keeps the measured command away from the job's secrets", async () => {
    const leak = path.join(workspace, "environment");
    const result = await step("main", {
      inputs: { token: "job", run: `env > ${leak}`, baseline: "none", comment: "never" },
      env: { ...job.env, GITHUB_TOKEN: "job", GITHUB_WORKSPACE: workspace },
    });
    expect(result.outputs.verdict).toBeDefined();
    const names = readFileSync(leak, "utf8")
      .split("\n")
      .map((line) => line.split("=")[0] ?? "");
    expect(names).toContain("PATH");
    const secret = /^(ACTIONS_|INPUT_|STATE_|GITHUB_(TOKEN|OUTPUT|STATE|ENV|PATH|STEP_SUMMARY)$)/;
    expect(names.filter((name) => secret.test(name))).toEqual([]);
  }, 60_000);
});
