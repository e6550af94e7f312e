import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sampleReport } from "../../src/report/testing/sample-report.ts";
import { builtSteps } from "./testing/build-steps.ts";
import { ActionsDouble } from "./testing/double/actions.ts";
import { Permissions } from "./testing/double/permissions.ts";
import { openPull } from "./testing/double/pull-lookup.ts";
import { Reruns } from "./testing/double/reruns.ts";
import { GitHubDouble } from "./testing/github-double.ts";
import { Job } from "./testing/job.ts";
import { runStepFile } from "./testing/mini-runner.ts";
import { HEAD, SECTION, sectionBytes } from "./testing/sample-section.ts";
import { actionNode } from "./testing/tools.ts";

/** The accept step as the runner starts it: built, on Node 24, with only its inputs and the event. */

const BUILT = await builtSteps();
const github = new GitHubDouble();
const actions = new ActionsDouble();
const people = new Permissions();
const reruns = new Reruns(actions);
let job: Job;

beforeAll(async () => {
  github.use(reruns.routes).use(actions.routes).use(people.routes);
  await github.start();
  await actions.store.start();
  github.tokens.set("job", { login: "github-actions[bot]", write: true });
  people.roles.set("ann", "maintain");
  openPull(github, { number: 12, headSha: HEAD });
  actions.addRun({
    id: 501,
    event: "pull_request",
    headSha: HEAD,
    headBranch: "topic",
    headRepo: "octo/model",
    conclusion: "failure",
  });
  const report = sampleReport("fail");
  const scenarios = report.scenarios.map((one) => ({ ...one, difference: "3f9a2c1d04be-dapb187" }));
  actions.addArtifact(501, SECTION, sectionBytes({ report: { ...report, scenarios } }));
  job = new Job(github.url, null);
}, 60_000);

afterAll(async () => {
  await github.stop();
  await actions.store.stop();
  job.remove();
  expect([...github.faults, ...actions.store.faults]).toEqual([]);
});

function step(body: string, id: number, inputs: Readonly<Record<string, string>> = {}) {
  const file = path.join(job.directory, "comment.json");
  writeFileSync(
    file,
    JSON.stringify({ action: "created", issue: { number: 12, pull_request: {} }, comment: { id, body } }),
  );
  return runStepFile({
    node: actionNode(),
    script: path.join(BUILT, "action/accept.js"),
    cwd: job.directory,
    env: { ...job.env, GITHUB_EVENT_NAME: "issue_comment", GITHUB_EVENT_PATH: file },
    inputs: { token: "job", "gate-id": "default", rerun: "auto", ...inputs },
    timeoutMs: 60_000,
  });
}

describe("the built accept step", { timeout: 90_000 }, () => {
  it("the accept step accepts, sets its outputs and reruns the failed jobs", async () => {
    const body = "/stormlog accept 3f9a2c1d04be-dapb187 larger cache";
    const { id } = github.addComment(12, "ann", body, "2026-09-01T10:00:00Z");
    const { code, outputs, commands, log } = await step(body, id);
    expect(code, log).toBe(0);
    expect(commands.filter(({ command }) => ["warning", "error"].includes(command))).toEqual([]);
    expect(outputs).toMatchObject({ accepted: "true", by: "ann", "pull-request": "12", "run-id": "501" });
    expect(reruns.started).toEqual([501]);
  });

  it("the accept step ignores every other comment", async () => {
    const before = github.requests.length;
    const { code, outputs, log } = await step("Thanks!", 1);
    expect([code, outputs.accepted]).toEqual([0, "false"]);
    expect(github.requests).toHaveLength(before);
    expect(log).toContain("the comment accepts nothing");
  });

  it("the accept step names a wrong input", async () => {
    const { code, commands } = await step("Thanks!", 1, { rerun: "perhaps" });
    expect(code).toBe(2);
    expect(commands.find(({ command }) => command === "error")?.message).toContain("INPUT_INVALID");
  });
});
