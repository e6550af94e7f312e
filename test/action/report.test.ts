import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { sampleReport, sampleScenario } from "../../src/report/testing/sample-report.ts";
import { renderTimelinePng } from "../../src/report/timeline/timeline-png.ts";
import { differenceOf } from "../../src/verdict/difference.ts";
import { builtSteps } from "./testing/build-steps.ts";
import { runReport } from "./testing/built-report.ts";
import { GitDataDouble } from "./testing/double/git-data.ts";
import { openPull } from "./testing/double/pull-lookup.ts";
import { repositoryRoutes } from "./testing/double/repository.ts";
import { Job } from "./testing/job.ts";
import { runStepFile, type StepResult } from "./testing/mini-runner.ts";
import { ResultsDouble } from "./testing/results-double.ts";
import { HEAD, SECTION, sampleSection, sectionBytes } from "./testing/sample-section.ts";
import { FORK_RUN, StageTwo } from "./testing/stage-two.ts";
import { actionNode, azuriteBlobScript } from "./testing/tools.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const IMAGES = "refs/stormlog/images/pr-12";
const manifest = parse(readFileSync(path.join(ROOT, "report/action.yml"), "utf8"));
const node = actionNode();
const azurite = azuriteBlobScript();

const stage = new StageTwo();
const results = new ResultsDouble();
let git: GitDataDouble;
const BUILT = await builtSteps();

beforeAll(async () => {
  await Promise.all([stage.start(), azurite === null ? null : results.startWithBlobs(node, azurite)]);
  git = new GitDataDouble();
  stage.github.use(git.routes).use(repositoryRoutes(false));
}, 60_000);

afterAll(async () => {
  git.dispose();
  await stage.stop();
  if (azurite !== null) await results.stop();
});

beforeEach(() => {
  stage.reset();
  results.artifacts.length = 0;
});

afterEach(() => expect([...stage.faults, ...results.faults]).toEqual([]));

const left = (bytes: Uint8Array = sectionBytes()): number => stage.actions.addArtifact(FORK_RUN, SECTION, bytes);
const post = (inputs: Record<string, string> = {}, env = stage.env(), clock = 1): Promise<StepResult> =>
  runReport(stage, { image: "none", ...inputs }, { env, clock });
const warnings = ({ commands }: StepResult): readonly string[] =>
  commands.filter(({ command }) => command === "warning").map(({ message }) => message);

describe("after the run of a fork", () => {
  it("the report of a fork's run redraws the picture from the numbers and sets every output", async () => {
    stage.fork();
    left();
    const result = await runReport(stage, { image: "auto" });
    expect(result).toMatchObject({ code: 0, outputs: { verdict: "fail", "pull-request": "12" } });
    expect(Object.keys(result.outputs).sort()).toEqual(Object.keys(manifest.outputs).sort());
    expect(warnings(result)).toEqual([]);
    const commit = git.git("rev-parse", IMAGES);
    expect(stage.comment).toContain(`https://github.com/octo/model/blob/${commit}/default.png?raw=true`);
    expect(stage.comment).toContain("The numbers were reported by a run of the fork");
    const { timeline } = sampleSection().report.scenarios[0]!;
    const size = Number(git.git("cat-file", "-s", `${IMAGES}:default.png`));
    expect(Math.abs(size - (await renderTimelinePng(timeline!)).byteLength)).toBeLessThan(3000);
    expect(stage.github.requests.map(({ authorization }) => authorization)).not.toContain("");
  });

  it("the report takes image: mermaid as auto, with one note", async () => {
    stage.fork();
    left();
    const result = await runReport(stage, { image: "mermaid" });
    const notes = result.commands.filter(({ command }) => command === "notice");
    expect(notes).toMatchObject([{ message: "image: mermaid draws no chart any more. It means auto." }]);
    expect(stage.comment).toContain(`/blob/${git.git("rev-parse", IMAGES)}/default.png?raw=true`);
  });

  it("the report keeps one comment over several pushes", async () => {
    for (const [sha, verdict] of [
      ["1", "fail"],
      ["2", "fail"],
      ["3", "pass"],
    ] as const) {
      const head = sha.repeat(40);
      stage.fork({
        headSha: head,
        conclusion: verdict === "pass" ? "success" : "failure",
        jobs: [verdict === "pass" ? "success" : "failure"],
      });
      openPull(stage.github, { number: 12, headSha: head, headRepo: "mallory/model", headRef: "topic" });
      stage.actions.artifacts.length = 0;
      left(sectionBytes({ headSha: head, report: sampleReport(verdict) }));
      await post();
    }
    expect(stage.comment).toContain("### ✅ Memory: ");
  });

  it("the report shows all legs of a matrix in one comment", async () => {
    stage.fork();
    for (const leg of ["linux", "mac", "windows"]) {
      const report = sampleReport(leg === "mac" ? "fail" : "pass");
      stage.actions.addArtifact(FORK_RUN, `stormlog-section-default-${leg}.json`, sectionBytes({ leg, report }));
    }
    expect((await post()).outputs.verdict).toBe("fail");
    expect(stage.comment).toContain("1 of 3 legs");
  });

  it("the report of a run without a section is unjudged", async () => {
    stage.fork();
    const result = await post({ "fail-on": "regression" });
    expect(result).toMatchObject({ code: 6, outputs: { verdict: "" } });
    expect(stage.comment).toContain("### ❔ Memory: ");
    expect(stage.comment).toContain("https://github.com/octo/model/actions/runs/501");
  });

  it("the report writes nothing when the run was skipped", async () => {
    stage.fork({ conclusion: "skipped" });
    expect((await post()).code).toBe(0);
    expect(stage.github.comments).toEqual([]);
  });

  it("the report with comment: never sets the verdict without a comment", async () => {
    stage.fork();
    left();
    expect((await post({ comment: "never" })).outputs).toMatchObject({ verdict: "fail", "comment-url": "" });
    expect(stage.github.comments).toEqual([]);
  });

  it("the report exits as the gate did with fail-on: regression only", async () => {
    stage.fork();
    left();
    expect((await post({ "fail-on": "regression" })).code).toBe(4);
    expect((await post({ "fail-on": "never" })).code).toBe(0);
  });

  const difference = differenceOf("train-mlp", sampleScenario("fail").fingerprint, sampleScenario("fail").judgement!);
  const claims = (): Buffer => {
    const accepted = {
      difference: difference?.token ?? "",
      by: "octocat",
      reason: "meant",
      via: "comment",
      at_iso: null,
      head_sha: null,
      url: null,
    } as const;
    const scenario = { ...sampleScenario("fail"), verdict: "warn", difference: accepted.difference, accepted } as const;
    return sectionBytes({ report: sampleReport("warn", { scenarios: [scenario] }) });
  };

  it("the report ignores an acceptance that only the fork claims", async () => {
    stage.fork();
    left(claims());
    expect((await post()).outputs.verdict).toBe("fail");
    expect(stage.comment).toContain("Ignored an acceptance by someone without write permission");
    expect(stage.comment).not.toContain("Accepted by");
  });

  it("the report shows the acceptance of a user with write permission, with the user's own reason", async () => {
    stage.fork();
    left(claims());
    stage.people.roles.set("maintainer", "write").set("mallory", "read");
    stage.github.addComment(12, "mallory", `/stormlog accept ${difference?.token} mine`);
    stage.github.addComment(12, "maintainer", `/stormlog accept ${difference?.token} a larger batch`);
    stage.github.graphQl = (query) =>
      query.includes("IssueComment") ? { data: { node: { lastEditedAt: null, editor: null } } } : null;
    expect((await post()).outputs.verdict).toBe("warn");
    const ours = stage.github.comments.find(({ author }) => author.endsWith("[bot]"));
    expect(ours?.body).toContain("Accepted by maintainer");
    expect(ours?.body).not.toContain("octocat");
  });
});

describe("GitHub refuses a request of the report", () => {
  it("the report with a read-only token gives one warning", async () => {
    stage.fork();
    left();
    const result = await post({ token: "readonly" });
    expect(result).toMatchObject({ code: 0, outputs: { verdict: "fail", "comment-url": "" } });
    expect(warnings(result)).toEqual([expect.stringContaining("pull-requests: write")]);
  });

  it.each([403, 404, 500])("the report gives one warning when GitHub answers %i for the run", async (status) => {
    stage.fork();
    left();
    stage.github.failure = ({ path: asked }) =>
      /\/runs\/\d+$/.test(asked) ? { kind: "status", status, message: "no" } : null;
    const result = await post();
    expect(result).toMatchObject({ code: 0, outputs: { verdict: "" } });
    expect(warnings(result)).toHaveLength(1);
    if (status !== 500) expect(warnings(result)[0]).toContain("actions: read");
  });

  it.each(["cut", "endless"] as const)(
    "the report gives at most one warning for an artifact whose bytes are %s",
    async (kind) => {
      stage.fork();
      left();
      stage.actions.store.failure = () => ({ kind });
      const result = await post();
      expect(result.code).toBe(0);
      expect(result.outputs.verdict).toBe("");
      expect(warnings(result).length).toBeLessThanOrEqual(1);
    },
  );

  it("the report ends by timeout-minutes when the artifact store never answers", async () => {
    stage.fork();
    left();
    stage.actions.store.failure = () => ({ kind: "hang" });
    const result = await post({ "timeout-minutes": "0.2" });
    expect(stage.actions.store.requests).not.toEqual([]);
    expect(result.code).toBe(1);
    expect(result.log).toContain("STEP_TIMEOUT");
  });

  it("the report without a token is a usage error", async () => {
    const result = await post({ token: "" });
    expect(result).toMatchObject({ code: 2 });
    expect(result.log).toContain("NO_TOKEN");
  });
});

describe("a pull request that was closed", () => {
  const closed = (event = "pull_request"): Record<string, string> => {
    const repo = { full_name: "octo/model" };
    const pull = { number: 12, head: { sha: HEAD, repo }, base: { sha: "b".repeat(40), repo } };
    return stage.env({ action: "closed", pull_request: pull }, event);
  };

  it("a closed pull request loses its pictures, and other pull requests keep theirs", async () => {
    git.git("update-ref", IMAGES, git.git("commit-tree", "-m", "x", git.git("mktree")));
    git.git("update-ref", "refs/stormlog/images/pr-13", IMAGES);
    const result = await post({}, closed("pull_request_target"));
    expect(result).toMatchObject({ code: 0, outputs: { "pull-request": "12", verdict: "" } });
    expect(git.git("for-each-ref", "--format=%(refname)", "refs/stormlog/images")).toBe("refs/stormlog/images/pr-13");
    expect(stage.github.comments).toEqual([]);
  });

  it("a closed pull request without pictures gives no warning", async () => {
    expect(warnings(await post({}, closed()))).toEqual([]);
  });

  it("a closed pull request of a fork gives one warning when the token may not delete pictures", async () => {
    git.git("update-ref", IMAGES, "refs/stormlog/images/pr-13");
    const result = await post({ token: "readonly" }, closed());
    expect(result.code).toBe(0);
    expect(warnings(result)).toEqual([expect.stringContaining("contents: write")]);
  });
});

describe.skipIf(azurite === null)("after the gate in the same run", () => {
  let job: Job;
  beforeEach(() => {
    job = new Job(stage.github.url, results.url).pullRequest(12, HEAD);
    openPull(stage.github, { number: 12, headSha: HEAD });
  });
  afterEach(() => job.remove());

  const gate = (run: string): Promise<StepResult> =>
    runStepFile({
      node,
      script: path.join(BUILT, "action/prepared.js"),
      cwd: job.directory,
      env: job.env,
      inputs: { token: "readonly", comment: "never", run },
    });

  it("the report in the gate's run posts its comment without permission to read artifacts", async () => {
    expect((await gate("fail")).code).toBe(4);
    const result = await post({ image: "auto" }, job.env);
    expect(result).toMatchObject({ code: 0, outputs: { verdict: "fail", "pull-request": "12" } });
    expect(stage.comment).toContain("### ❌ Memory: ");
    expect(stage.comment, result.log).toContain(`blob/${git.git("rev-parse", IMAGES)}/default.png`);
    expect(stage.comment).not.toContain("fork");
    expect(stage.github.requests.some(({ path: asked }) => asked.includes("/actions/"))).toBe(false);
  });

  it("the report posts for a branch of copy-pr-bot by its number and commit", async () => {
    const { env } = job;
    Object.assign(env, {
      GITHUB_EVENT_NAME: "push",
      GITHUB_REF: "refs/heads/pull-request/12",
      GITHUB_SHA: HEAD,
    });
    delete env.GITHUB_EVENT_PATH;
    await gate("unjudged");
    expect((await post({}, env)).outputs).toMatchObject({ verdict: "unjudged", "pull-request": "12" });
    stage.github.comments.length = 0;
    await post({}, { ...env, GITHUB_SHA: "c".repeat(40) });
    expect(stage.github.comments).toEqual([]);
  });

  it("the report sets the verdict of a run without a pull request", async () => {
    const { env } = job;
    env.GITHUB_EVENT_NAME = "schedule";
    delete env.GITHUB_EVENT_PATH;
    await gate("fail");
    expect(await post({}, env)).toMatchObject({ code: 0, outputs: { verdict: "fail", "pull-request": "" } });
    expect(stage.github.comments).toEqual([]);
  });

  it("the report is unjudged when the gate's job left no section", async () => {
    const result = await post({}, job.env);
    expect(result).toMatchObject({ code: 0, outputs: { verdict: "" } });
    expect(stage.comment).toContain("### ❔ Memory: ");
  });
});

describe("action.yml of the report", () => {
  it("action.yml of the report has exactly the inputs that are read", () => {
    const names = ["comment", "fail-on", "gate-id", "image", "run-id", "timeout-minutes", "token"];
    expect(Object.keys(manifest.inputs).sort()).toEqual(names);
  });

  it("the README of the report has all inputs and outputs in its table", () => {
    const readme = readFileSync(path.join(ROOT, "report/README.md"), "utf8");
    for (const name of [...Object.keys(manifest.inputs), ...Object.keys(manifest.outputs)]) {
      expect(readme).toContain(`| \`${name}\``);
    }
  });
});
