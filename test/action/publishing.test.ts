import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { builtSteps } from "./testing/build-steps.ts";
import { GitHubDouble } from "./testing/github-double.ts";
import { Job } from "./testing/job.ts";
import { runStepFile, type StepOptions, type StepResult } from "./testing/mini-runner.ts";
import { ResultsDouble } from "./testing/results-double.ts";
import { actionNode, azuriteBlobScript } from "./testing/tools.ts";
import { directoryHashes, zipHashes } from "./testing/unzip.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BUILT = await builtSteps();
const BOT = "github-actions[bot]";
const PR = 12;
const HEAD = "a".repeat(40);

/** How much faster the clock of a step runs: it measures nothing and is mostly idle. */
const CLOCK = 4;
/** For a step that waits for nothing: a busy machine then has all of a deadline, not an eighth. */
const REAL_CLOCK = { clock: 1 };
const node = actionNode();
const azurite = azuriteBlobScript();
/** Every step uploads its bundle, so all of this needs the blob service. */
const suite = describe.skipIf(azurite === null);
const manifest = parse(readFileSync(path.join(ROOT, "action.yml"), "utf8"));

let github: GitHubDouble;
let results: ResultsDouble;
let job: Job;

beforeAll(async () => {
  results = new ResultsDouble();
  await results.startWithBlobs(node, azurite as string);
});

afterAll(() => results.stop());

beforeEach(async () => {
  github = new GitHubDouble();
  await github.start();
  github.tokens.set("job", { login: BOT, write: true });
  github.tokens.set("readonly", { login: BOT, write: false });
  github.heads.set(PR, HEAD);
  results.artifacts.length = 0;
  results.failure = () => null;
  job = new Job(github.url, results.url).pullRequest(PR, HEAD);
});

afterEach(async () => {
  job.remove();
  await github.stop();
  expect(github.faults).toEqual([]);
  expect(results.faults).toEqual([]);
});

const main = (inputs: Record<string, string>, more: Partial<StepOptions> = {}): Promise<StepResult> =>
  runStepFile({
    node,
    script: path.join(BUILT, "action/prepared.js"),
    cwd: job.directory,
    env: job.env,
    inputs: { token: "job", run: "fail", ...inputs },
    clock: CLOCK,
    ...more,
  });

const warnings = (result: StepResult, about: RegExp): readonly string[] =>
  result.commands.filter(({ command, message }) => command === "warning" && about.test(message)).map((c) => c.message);

suite("publishing a verdict", () => {
  it("the step uploads the bundle byte for byte, sets every output and keeps one comment", async () => {
    const first = await main({}, REAL_CLOCK);
    expect(first.code).toBe(4);
    expect(Object.keys(first.outputs).sort()).toEqual(Object.keys(manifest.outputs).sort());
    expect(first.outputs).toMatchObject({ verdict: "fail", "exit-code": "4", confirmed: "true", class: "leak" });
    expect(JSON.parse(first.outputs.results ?? "")[0].checks.length).toBeGreaterThan(0);
    expect(Number(first.outputs["peak-bytes"])).toBeGreaterThan(0);
    expect(first.outputs["artifact-url"]).toBe(
      `https://github.com/octo/model/actions/runs/77/artifacts/${first.outputs["artifact-id"]}`,
    );
    expect(results.artifacts.map(({ name, mimeType }) => [name, mimeType])).toEqual([
      ["stormlog-default", "application/zip"],
      ["stormlog-default.html", "text/html"],
      ["stormlog-section-default.json", "application/json"],
    ]);
    const stored = await results.read("stormlog-default");
    expect(zipHashes(stored)).toEqual(directoryHashes(first.outputs["bundle-path"] ?? ""));
    expect((await results.read("stormlog-default.html")).toString()).toContain("<title>timeline</title>");
    expect(github.comments).toHaveLength(1);
    expect(github.comments[0]?.body).toMatch(/^<!-- stormlog-gate:default -->\n/);
    expect(github.comments[0]?.body).toMatch(/^`[▁-█ ┊]+`$/m);
    expect(github.comments[0]?.body).toContain(first.outputs["artifact-url"] ?? "-");
    expect(first.outputs["comment-url"]).toMatch(/#issuecomment-1000$/);
    expect(first.summary).toContain("### ❌ Memory: ");
    expect(warnings(first, /Could not/)).toEqual([]);
  });

  it("the step loads its clients before the deadlines of their answers, which a busy machine's loading would use up", async () => {
    const preload = new URL("./testing/deadline-loads.mjs", import.meta.url).href;
    const { log } = await main({}, { ...REAL_CLOCK, env: { ...job.env, NODE_OPTIONS: `--import ${preload}` } });
    expect(github.comments).toHaveLength(1);
    for (const ms of [60_000, 15_000, 30_000]) expect(log).toContain(`deadline of ${ms} ms`);
    const loads = [...log.matchAll(/^(\S+) loaded within (.*)$/gm)];
    expect(new Set(loads.map(([, client]) => client))).toEqual(
      new Set(["CreateArtifact", "UND_ERR_HEADERS_TIMEOUT", "secondary-limit"]),
    );
    expect(new Set(loads.map(([, , deadlines]) => deadlines))).toEqual(new Set(["no deadline"]));
  });

  it("a second attempt uploads under a free name beside the first attempt's artifact", async () => {
    await main({}, REAL_CLOCK);
    job.env.GITHUB_RUN_ATTEMPT = "2";
    const again = await main({}, REAL_CLOCK);
    expect(warnings(again, /Could not/)).toEqual([]);
    expect(results.artifacts.map(({ name }) => name)).toContain("stormlog-default-attempt-2");
  });

  it("fail-on: never exits 0 and still reports fail", async () => {
    const result = await main({ "fail-on": "never", comment: "never" });
    expect(result).toMatchObject({ code: 0, outputs: { verdict: "fail", "exit-code": "4", "comment-url": "" } });
    expect(github.requests).toEqual([]);
  });

  it("fail-on: never does not exempt a command error", async () => {
    expect(await main({ run: "error", "fail-on": "never", comment: "never" })).toMatchObject({
      code: 1,
      outputs: { verdict: "error", "exit-code": "1" },
    });
  });

  it("the step writes no comment without a pull request", async () => {
    delete job.env.GITHUB_EVENT_PATH;
    expect(await main({ run: "pass" })).toMatchObject({ code: 0, outputs: { verdict: "pass" } });
    expect(github.requests).toEqual([]);
  });

  it("the step reports a wrong input in its outputs and one error", async () => {
    const result = await main({ "gate-id": "a b" });
    expect(result).toMatchObject({ code: 2, outputs: { verdict: "error", "exit-code": "2" } });
    expect(result.commands.filter(({ command }) => command === "error")).toHaveLength(1);
    expect(Object.keys(result.outputs).sort()).toEqual(Object.keys(manifest.outputs).sort());
  });

  it("an error at the start replaces the older verdict in the comment", async () => {
    github.addComment(PR, BOT, "<!-- stormlog-gate:default -->\nall is well");
    const result = await main({ run: "throw" });
    expect(result).toMatchObject({ code: 2, outputs: { verdict: "error" } });
    expect(result.outputs["comment-url"]).toMatch(/#issuecomment-1000$/);
    expect(github.comments[0]?.body).toContain("`NO_COMMAND`");
    expect(result.log).not.toMatch(/^\s+at /m);
  });

  it("a bug in the step is shown without a stack trace", async () => {
    const result = await main({ run: "crash", comment: "never" });
    expect(result).toMatchObject({ code: 1, outputs: { verdict: "error", "exit-code": "1" } });
    expect(result.log).not.toMatch(/^\s+at /m);
  });

  it("output of the measured command never acts as a workflow command", async () => {
    const result = await main({ run: "spoof", comment: "never" });
    expect(result.outputs.verdict).toBe("fail");
    expect(result.log).toContain("::error::spoofed");
    expect(result.commands.some(({ message }) => message.includes("spoofed"))).toBe(false);
    expect(result.commands.some(({ command }) => command === "set-output")).toBe(false);
    // The step's own commands act again afterwards.
    expect(result.commands.some(({ command }) => command === "error")).toBe(true);
  });
});

/** Every class of failure has its case in failures.test.ts and artifact-failures.test.ts. */
suite("GitHub fails", () => {
  it("the verdict is kept with a read-only token, and one warning names the permission", async () => {
    const result = await main({ token: "readonly" }, REAL_CLOCK);
    expect(result).toMatchObject({ code: 4, outputs: { verdict: "fail", "comment-url": "" } });
    expect(warnings(result, /comment/)).toEqual([expect.stringContaining("pull-requests: write")]);
    expect(result.summary).toContain("### ❌ Memory: ");
  });

  it("the verdict is kept when the addresses of GitHub do not answer", async () => {
    const gone = new GitHubDouble();
    const dead = await gone.start();
    await gone.stop();
    Object.assign(job.env, { GITHUB_API_URL: dead, ACTIONS_RESULTS_URL: dead });
    // The comment's time is 30 s of this clock, in which the machine works, too.
    const result = await main({}, { clock: 2 });
    expect(result).toMatchObject({ code: 4, outputs: { verdict: "fail", "artifact-id": "" } });
    // On a busy machine the tries take all of the time that a comment has.
    expect(warnings(result, /comment/)).toEqual([expect.stringMatching(/ECONNREFUSED|no answer within 30 s/)]);
    expect(warnings(result, /evidence/)).toHaveLength(1);
  }, 60_000);
});

suite("cancelling", () => {
  const measuring = async (output: () => string): Promise<void> => {
    while (!output().includes("measuring\n")) await new Promise((resolve) => setTimeout(resolve, 20));
  };

  it("a cancelled step uploads its evidence and exits 130 in time, without a comment", async () => {
    const cancelled = await main({ run: "wait" }, { cancel: measuring, clock: 0.5 });
    const ended = { code: 130, signal: null, outputs: { verdict: "error", "exit-code": "130" } };
    expect(cancelled, cancelled.log.slice(-2000)).toMatchObject({ ...ended, signals: ["SIGINT"] });
    expect(github.requests).toEqual([]);
    expect(results.artifacts.map(({ name }) => name)).toEqual(["stormlog-default"]);
    const stored = await results.read("stormlog-default");
    expect(zipHashes(stored)).toEqual(directoryHashes(cancelled.outputs["bundle-path"] ?? ""));
    expect(cancelled.outputs["artifact-id"]).not.toBe("");
  });

  it("a gate that fails while it measures uploads what there is of its bundle", async () => {
    const failed = await main({ run: "broken", comment: "never" });
    expect(failed, failed.log.slice(-2000)).toMatchObject({ code: 1, outputs: { verdict: "error", "exit-code": "1" } });
    const stored = await results.read("stormlog-default");
    expect(zipHashes(stored)).toEqual(directoryHashes(failed.outputs["bundle-path"] ?? ""));
  });

  it("a cancelled step gives up on an engine that does not stop before the runner kills it", async () => {
    const stuck = await main({ run: "stuck" }, { cancel: measuring, clock: 0.5 });
    expect(stuck).toMatchObject({ code: 130, signal: null });
    expect(stuck.signals).not.toContain("SIGKILL");
    expect(existsSync(path.join(stuck.outputs["bundle-path"] ?? "", "report.json"))).toBe(true);
  });

  it("a step cancelled while an upload hangs ends in time, and a warning names the bundle on the runner", async () => {
    results.failure = () => ({ kind: "hang" });
    const uploading = async (): Promise<void> => {
      const before = results.requests.length;
      while (results.requests.length === before) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    const cancelled = await main({ comment: "never" }, { cancel: uploading, clock: 0.5 });
    expect(cancelled.signals).toEqual(["SIGINT"]);
    expect(cancelled.code).toBe(130);
    expect(cancelled.outputs["artifact-id"]).toBe("");
    expect(warnings(cancelled, /It is on the runner in/)).toHaveLength(1);
  });

  it("a step that exceeds timeout-minutes fails with STEP_TIMEOUT", async () => {
    const late = await main({ run: "wait", "timeout-minutes": "0.2" });
    expect(late).toMatchObject({ code: 1, outputs: { verdict: "error", "exit-code": "1" } });
    expect(late.log).toContain("STEP_TIMEOUT");
  });
});
