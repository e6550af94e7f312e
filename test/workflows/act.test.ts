import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GitHubDouble } from "../action/testing/github-double.ts";
import { actionNode } from "../action/testing/tools.ts";
import { type ActRun, runAct } from "./testing/act.ts";
import { builtAction, pullRequestEvent } from "./testing/built-action.ts";
import type { Repository } from "./testing/repository.ts";
import { HOW, workflowTool } from "./testing/tools.ts";
import { zipEntry } from "./testing/zip-entry.ts";

const WORKLOAD = "leak-lab/demo/workload.mjs";
const MEASURED_S = 240;

describe.skipIf(workflowTool("act") === null)(`the project's own workflow under act, with uses: ./ (${HOW})`, () => {
  const github = new GitHubDouble();
  const node = actionNode();
  let repository: Repository;
  let base: string;

  const workload = (state: "clean" | "leaky" | "fixed"): void => {
    const text = execFileSync("git", ["show", `HEAD:${WORKLOAD}`], { cwd: repository.directory, encoding: "utf8" });
    const changed = text.replace(/process\.argv\[2\] \?\? "\w+"/, `process.argv[2] ?? "${state}"`);
    repository.write(WORKLOAD, changed);
  };

  /** A push to the pull request, and its run. */
  const push = (state: "leaky" | "fixed"): Promise<ActRun> => {
    workload(state);
    const head = repository.commit(`the ${state} state`);
    return runAct({
      cwd: repository.directory,
      workflow: ".github/workflows/gate.yml",
      job: "gate",
      nodeDirectory: path.dirname(node),
      apiUrl: github.url,
      event: pullRequestEvent(7, base, head),
      arguments: ["--matrix", "workload:demo"],
    });
  };

  beforeAll(async () => {
    await github.start();
    github.tokens.set("job", { login: "github-actions[bot]", write: false });
    repository = await builtAction();
    // The baseline of the clean state, measured by the same engine with the same command line.
    const config = path.join(repository.directory, "measure.yml");
    writeFileSync(config, `scenarios:\n  - { name: demo, run: node ${WORKLOAD} }\nbaseline: file:baselines\n`);
    execFileSync(node, ["dist/cli.js", "baseline", "refresh", "--config", config], {
      cwd: repository.directory,
      env: { PATH: `${path.dirname(node)}:${process.env.PATH ?? ""}`, HOME: process.env.HOME ?? "/" },
      stdio: "pipe",
    });
    rmSync(config);
    base = repository.commit("its baseline");
    repository.git("update-ref", "refs/remotes/origin/main", base);
    repository.git("checkout", "--quiet", "-b", "change");
  }, 180_000);

  afterAll(async () => {
    await github.stop();
    repository.remove();
  });

  it(
    "the project's workflow fails on the leak, with the line in the log and the evidence uploaded",
    async () => {
      const { code, log, artifacts } = await push("leaky");
      expect(code, log).toBe(1);
      expect(log).toContain("Failure - Main Stormlog Gate");
      expect(log).toMatch(/::error title=demo.*memory leak.*workload\.mjs,line=\d+/);
      expect(log).toContain("verdict fail, class leak, peak");
      expect(log).not.toContain("Post Stormlog Gate");
      expect(log).toContain("Job failed");
      // Output of the measured command between the stop and its token does not act.
      expect(log).toMatch(/::stop-commands::stormlog-\w+/);
      const bundle = artifacts.get("stormlog-default-demo");
      expect([...artifacts.keys()]).toContain("stormlog-default-demo");
      const report = JSON.parse(zipEntry(bundle as Buffer, "report.json"));
      expect(report).toMatchObject({ report_kind: "memory_gate", payload: { verdict: "fail" } });
    },
    MEASURED_S * 1000,
  );

  it(
    "the project's workflow passes the fix",
    async () => {
      const { code, log, artifacts } = await push("fixed");
      expect(code, log).toBe(0);
      expect(log).toContain("Success - Main Stormlog Gate");
      expect(log).not.toContain("Post Stormlog Gate");
      expect(log).toMatch(/verdict pass, class \w+, peak \d+ bytes/);
      expect(log).toContain("Job succeeded");
      const report = JSON.parse(zipEntry(artifacts.get("stormlog-default-demo") as Buffer, "report.json"));
      expect(report.payload.verdict).toBe("pass");
    },
    MEASURED_S * 1000,
  );
});
