import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { runContext } from "../../src/github/api/run-context.ts";
import { actionsArtifactStore, uploadRaw } from "../../src/github/artifacts/artifact.ts";
import { uploadSection } from "../../src/github/artifacts/section-artifacts.ts";
import { type GateReport, scenarioReport, type Verdict } from "../../src/report/model/gate-report.ts";
import type { Section } from "../../src/report/model/section.ts";
import { sampleReport } from "../../src/report/testing/sample-report.ts";
import { builtSteps } from "./testing/build-steps.ts";
import { GitHubDouble } from "./testing/github-double.ts";
import type { Failure } from "./testing/http.ts";
import { Job } from "./testing/job.ts";
import { runStepFile, type StepResult } from "./testing/mini-runner.ts";
import { ResultsDouble } from "./testing/results-double.ts";
import { actionNode, azuriteBlobScript } from "./testing/tools.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BUILT = await builtSteps();
const BOT = "github-actions[bot]";
const PR = 12;
const HEAD = "a".repeat(40);

/** How much faster the clock of a step runs: it measures nothing and is mostly idle. */
const CLOCK = 4;
const node = actionNode();
const azurite = azuriteBlobScript();
const manifest = parse(readFileSync(path.join(ROOT, "merge/action.yml"), "utf8"));
const results = new ResultsDouble();
let github: GitHubDouble;
let job: Job;

beforeAll(async () => {
  if (azurite === null) return;
  await results.startWithBlobs(node, azurite);
}, 60_000);

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
  for (const name of ["ACTIONS_RESULTS_URL", "ACTIONS_RUNTIME_TOKEN"]) vi.stubEnv(name, job.env[name]);
  // The artifact client logs every file it reads.
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
});

afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  job.remove();
  await github.stop();
  expect(github.faults).toEqual([]);
  expect(results.faults).toEqual([]);
});

const artifactJob = async () => ({
  store: await actionsArtifactStore(),
  context: runContext(job.env),
  retentionDays: null,
  deadline: { ms: 30_000 },
});

/** Upload a section as the leg's own job does, with the real client. */
async function leave(leg: string | null, verdict: Verdict, more: Partial<Section> & { report?: GateReport } = {}) {
  const section: Section = {
    gateId: "default",
    leg,
    headSha: HEAD,
    runAttempt: Number(job.env.GITHUB_RUN_ATTEMPT),
    bundleArtifact: null,
    timelineArtifact: null,
    report: sampleReport(verdict, { session: `session-${leg}` }),
    ...more,
  };
  const upload = await uploadSection(await artifactJob(), section, job.directory);
  if (!upload.ok) throw new Error(upload.warning);
}

const merge = (inputs: Record<string, string> = {}, env: Record<string, string> = {}): Promise<StepResult> =>
  runStepFile({
    node,
    script: path.join(BUILT, "action/merge.js"),
    cwd: job.directory,
    env: { ...job.env, ...env },
    inputs: { token: "job", image: "none", ...inputs },
    clock: CLOCK,
  });

const said = (result: StepResult, command: string): readonly string[] =>
  result.commands.filter((one) => one.command === command).map(({ message }) => message);

const legsOf = (result: StepResult): readonly (readonly [string, string])[] =>
  JSON.parse(result.outputs.legs ?? "[]").map((one: { leg: string; verdict: string }) => [one.leg, one.verdict]);

/** A node's report: the sample's series, moved to a rank of a world size of two. */
function nodeReport(rank: number, verdict: Verdict): GateReport {
  const report = sampleReport(verdict, { session: "job-7" });
  const place = <T extends { readonly rank: number }>(one: T): T => ({ ...one, rank });
  return {
    ...report,
    scenarios: report.scenarios.map((scenario) =>
      scenarioReport({
        ...scenario,
        judgement:
          scenario.judgement === null ? null : { ...scenario.judgement, checks: scenario.judgement.checks.map(place) },
        runs: scenario.runs.map((run) => ({
          ...run,
          info: { ...run.info, identity: { ...run.info.identity, rank, world_size: 2 } },
          analysis:
            run.analysis === null
              ? null
              : {
                  ...run.analysis,
                  series: run.analysis.series.map(place),
                  ranks: {
                    ...run.analysis.ranks,
                    world_size: 2,
                    participating_ranks: [rank],
                    missing_ranks: [1 - rank],
                  },
                },
        })),
      }),
    ),
  };
}

describe.skipIf(azurite === null)("the job after a matrix", () => {
  it("merge reports the worst leg in one comment, one summary and its exit status", async () => {
    await leave("linux", "pass");
    await leave("mac", "fail");
    await leave("windows", "unjudged");
    const result = await merge({ expect: "3" });
    expect(result.code, result.log).toBe(4);
    expect(Object.keys(result.outputs).sort()).toEqual(Object.keys(manifest.outputs).sort());
    expect(result.outputs).toMatchObject({ verdict: "fail", "exit-code": "4" });
    expect(legsOf(result)).toEqual([
      ["linux", "pass"],
      ["mac", "fail"],
      ["windows", "unjudged"],
    ]);
    const checked = JSON.parse(result.outputs.results ?? "[]") as { scenario: string; checks: unknown[] }[];
    expect(checked.map(({ scenario }) => scenario)).toEqual(["linux/train-mlp", "mac/train-mlp", "windows/train-mlp"]);
    expect(checked.every(({ checks }) => checks.length > 0)).toBe(true);
    expect(github.comments).toHaveLength(1);
    expect(github.comments[0]?.body).toMatch(
      /^<!-- stormlog-gate:default -->\n### ❌ Memory: mac: `train-mlp` leaks .* \(1 of 3 legs\)\n/,
    );
    expect(result.outputs["comment-url"]).toContain("issuecomment");
    expect(result.summary).toContain("(1 of 3 legs)");
    expect(said(result, "error")).toHaveLength(1);
    expect(result.log).toContain("6 runs");
  });

  it("merge passes when all legs pass, and replaces the comment of the legs", async () => {
    github.addComment(PR, BOT, "<!-- stormlog-gate:default -->\nwritten by a leg");
    await leave("linux", "pass");
    await leave("mac", "warn");
    const result = await merge({ expect: "linux, mac", result: "success" });
    expect(result, result.log).toMatchObject({ code: 0, outputs: { verdict: "warn", "exit-code": "0" } });
    expect(github.comments).toHaveLength(1);
    expect(github.comments[0]?.body).toContain("2 legs");
    expect(said(result, "warning")).toEqual([]);
  });

  it.each([
    ["a number", "3"],
    ["names", "linux,mac,windows"],
  ])("merge never passes when a leg is missing that %s asked for", async (_how, expect_) => {
    await leave("linux", "pass");
    await leave("mac", "pass");
    const result = await merge({ expect: expect_, unjudged: "pass", "fail-on": "never" });
    expect(result, result.log).toMatchObject({ code: 6, outputs: { verdict: "unjudged", "exit-code": "6" } });
    expect(said(result, "warning").join()).toContain("a missing leg is not a pass");
    expect(github.comments[0]?.body).toContain("2 of 3 legs");
    expect(github.comments[0]?.body).toContain("unjudged");
  });

  it("merge never passes without a section", async () => {
    const result = await merge();
    expect(result, result.log).toMatchObject({ code: 6, outputs: { verdict: "unjudged", legs: "[]" } });
    expect(github.comments[0]?.body).toContain("No leg has reported");
  });

  it("merge is an error when GitHub recorded a failure of the legs' job", async () => {
    await leave("linux", "pass");
    const result = await merge({ result: "failure" });
    expect(result, result.log).toMatchObject({ code: 1, outputs: { verdict: "error", "exit-code": "1" } });
    expect(github.comments[0]?.body).toMatch(/GitHub recorded their job as failure/);
    expect(github.comments[0]?.body).toMatch(/### 💥 Memory: /);
    expect(said(result, "error").join()).toContain("GitHub recorded their job as failure");
  });

  it("merge exits as the inputs unjudged and fail-on ask", async () => {
    await leave("linux", "unjudged");
    expect((await merge({ comment: "never" })).code).toBe(0);
    expect((await merge({ comment: "never", unjudged: "fail" })).code).toBe(6);
    await leave("mac", "fail");
    expect(await merge({ comment: "never", "fail-on": "never" })).toMatchObject({
      code: 0,
      outputs: { verdict: "fail", "exit-code": "4" },
    });
    await leave("windows", "error");
    expect(await merge({ comment: "never", "fail-on": "never" })).toMatchObject({
      code: 1,
      outputs: { verdict: "fail", "exit-code": "1" },
    });
    expect(github.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  });

  it("merge counts the newest attempt of a leg", async () => {
    await leave("linux", "fail");
    job.env.GITHUB_RUN_ATTEMPT = "2";
    await leave("linux", "pass");
    expect(await merge({ expect: "1" })).toMatchObject({ code: 0, outputs: { verdict: "pass" } });
    job.env.GITHUB_RUN_ATTEMPT = "3";
    expect((await merge()).summary).toContain("Measured in an earlier attempt of this run: linux");
    expect((await merge({ result: "success" })).summary).not.toContain("earlier attempt");
  });

  it("merge counts an unreadable section as missing", async () => {
    await leave("linux", "pass");
    const upload = await uploadRaw(
      { ...(await artifactJob()), name: "stormlog-section-default-mac" },
      ".json",
      job.directory,
      '{"schema":"stormlog.section/1","verdict":"pass"}',
    );
    expect(upload.ok).toBe(true);
    const result = await merge();
    expect(result, result.log).toMatchObject({ code: 6, outputs: { verdict: "unjudged" } });
  });

  it("merge uses a leg's checks when its own verdict is better", async () => {
    const report = sampleReport("fail", { verdict: "pass", exit_code: 0 });
    await leave("linux", "pass", {
      report: { ...report, scenarios: report.scenarios.map((one) => ({ ...one, verdict: "pass" as const })) },
    });
    const result = await merge();
    expect(result, result.log).toMatchObject({ code: 4, outputs: { verdict: "fail" } });
    expect(github.comments[0]?.body).toContain("better verdict than its own checks support");
  });

  it("merge names a wrong input", async () => {
    for (const [inputs, code] of [
      [{ expect: "0" }, "EXPECT_INVALID"],
      [{ unjudged: "maybe" }, "INPUT_INVALID"],
      [{ result: "fine" }, "INPUT_INVALID"],
    ] as const) {
      const wrong = await merge(inputs);
      expect(wrong.code).toBe(2);
      expect(said(wrong, "error")).toEqual([expect.stringContaining(code)]);
    }
  });
});

describe.skipIf(azurite === null)("the job after the nodes of one job", () => {
  it("merge joins the nodes of one job into one leg with all ranks", async () => {
    await leave("n0", "pass", { report: nodeReport(0, "pass") });
    await leave("n1", "fail", { report: nodeReport(1, "fail") });
    const result = await merge({ expect: "2" });
    expect(result, result.log).toMatchObject({ code: 4, outputs: { verdict: "fail" } });
    expect(legsOf(result)).toEqual([["n0+n1", "fail"]]);
    const [only] = JSON.parse(result.outputs.results ?? "[]") as { checks: { rank: number }[] }[];
    expect(new Set(only?.checks.map(({ rank }) => rank))).toEqual(new Set([0, 1]));
    expect(github.comments[0]?.body).toContain("n0&#43;n1");
  });

  it("merge never passes when a rank of the job is missing", async () => {
    await leave("n0", "pass", { report: nodeReport(0, "pass") });
    const result = await merge({ unjudged: "fail" });
    expect(result, result.log).toMatchObject({ code: 6, outputs: { verdict: "unjudged" } });
    expect(github.comments[0]?.body).toContain("rank 1 of 2 is missing from the bundles");
  });
});

describe.skipIf(azurite === null)("GitHub fails", () => {
  it("merge keeps its verdict when the token may not write, with one warning", async () => {
    await leave("linux", "fail");
    const result = await merge({ token: "readonly" });
    expect(result).toMatchObject({ code: 4, outputs: { verdict: "fail", "comment-url": "" } });
    expect(said(result, "warning")).toEqual([expect.stringContaining("pull-requests: write")]);
    expect(result.summary).toContain("fail");
  });

  it.each<[string, Failure]>([
    ["500", { kind: "status", status: 500, message: "oops" }],
    ["404", { kind: "status", status: 404, message: "Not Found" }],
    ["a connection that is cut", { kind: "cut" }],
  ])(
    "merge keeps its verdict with %s from the API",
    async (_name, failure) => {
      await leave("linux", "pass");
      github.failure = () => failure;
      const result = await merge({ expect: "1" });
      expect(result, result.log).toMatchObject({ code: 0, outputs: { verdict: "pass", "comment-url": "" } });
      expect(said(result, "warning")).toHaveLength(1);
    },
    60_000,
  );

  it("merge is an error when the artifact service cannot be reached", async () => {
    const result = await merge({}, { ACTIONS_RESULTS_URL: "http://127.0.0.1:9" });
    expect(result, result.log).toMatchObject({ code: 1, outputs: { verdict: "error", "exit-code": "1" } });
    expect(said(result, "error").join()).toContain("SECTIONS_UNREADABLE");
  }, 180_000);

  it("merge writes no comment outside a pull request", async () => {
    await leave("linux", "pass", { headSha: null });
    delete job.env.GITHUB_EVENT_PATH;
    expect(await merge()).toMatchObject({ code: 0, outputs: { verdict: "pass", "comment-url": "" } });
    expect(github.comments).toEqual([]);
  });
});
