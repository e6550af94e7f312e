import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { GitHubDouble } from "../action/testing/github-double.ts";
import { actionNode } from "../action/testing/tools.ts";
import { runAct } from "./testing/act.ts";
import { builtAction, pullRequestEvent } from "./testing/built-action.ts";
import { Repository } from "./testing/repository.ts";
import { HOW, ranInit, workflowTool } from "./testing/tools.ts";

const PULL_REQUEST = 9;

describe.skipIf(workflowTool("act") === null)(`what init writes, under act (${HOW})`, () => {
  const github = new GitHubDouble();
  const user = new Repository();
  let action: Repository;

  beforeAll(async () => {
    await github.start();
    action = await builtAction();
  }, 60_000);

  afterAll(async () => {
    await github.stop();
    action.remove();
    user.remove();
  });

  it("the workflow of init measures in one job and reports a leak in the other, with one comment", async () => {
    user.write("train.mjs", readFileSync(path.join(packageRoot(), "leak-lab/demo/workload.mjs")));
    expect(ranInit(user.directory).code).toBe(0);
    const config = readFileSync(path.join(user.directory, "stormlog-gate.yml"), "utf8");
    user.write("stormlog-gate.yml", config.replace("python train.py --steps 200", "node train.mjs leaky"));
    const base = user.commit("what init wrote");
    user.git("update-ref", "refs/remotes/origin/main", base);
    user.git("checkout", "--quiet", "-b", "change");
    user.write("README.md", "a change\n");
    const head = user.commit("a change");
    github.heads.set(PULL_REQUEST, head);
    github.tokens.set("job", { login: "github-actions[bot]", write: true });
    const { code, log, artifacts } = await runAct({
      cwd: user.directory,
      workflow: ".github/workflows/memory-gate.yml",
      // Includes the job that it needs, which measures.
      job: "report",
      nodeDirectory: path.dirname(actionNode()),
      apiUrl: github.url,
      event: pullRequestEvent(PULL_REQUEST, base, head),
      arguments: ["--use-new-action-cache", "--local-repository", `stormlog/gate@v1=${action.directory}`],
    });
    expect(code, log).toBe(1);
    expect(log).toContain("Failure - Main stormlog/gate@v1");
    expect(log).not.toContain("Post stormlog/gate@v1");
    expect(log).toContain("Success - Main stormlog/gate/report@v1");
    expect([...artifacts.keys()]).toEqual(
      expect.arrayContaining(["stormlog-default", "stormlog-section-default.json"]),
    );
    const ours = github.comments.filter(({ body }) => body.includes("stormlog-gate:default"));
    expect(ours).toHaveLength(1);
    expect(ours[0]?.body).toContain("train.mjs:");
  }, 240_000);
});
