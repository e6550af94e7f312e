import { mkdtempSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { getOctokit } from "@actions/github";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Octokit } from "../../src/github/api/octokit.ts";
import { runContext } from "../../src/github/api/run-context.ts";
import { type ArtifactStore, actionsArtifactStore } from "../../src/github/artifacts/artifact.ts";
import { sectionReader, uploadSection } from "../../src/github/artifacts/section-artifacts.ts";
import { upsertSectionComment } from "../../src/github/comment/section-comment.ts";
import type { Section } from "../../src/report/model/section.ts";
import { sampleReport } from "../../src/report/testing/sample-report.ts";
import { prng } from "../../src/stats/testing/prng.ts";
import { builtSteps } from "./testing/build-steps.ts";
import { GitHubDouble } from "./testing/github-double.ts";
import { Job } from "./testing/job.ts";
import { runStepFile } from "./testing/mini-runner.ts";
import { ResultsDouble } from "./testing/results-double.ts";
import { actionNode, azuriteBlobScript } from "./testing/tools.ts";

const _ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BUILT = await builtSteps();
const BOT = "github-actions[bot]";
const PR = 12;
const HEAD = "a".repeat(40);
const LEGS = 24;
/** How often all legs write at once; a soak repeats it. */
const TRIES = Number(process.env.STORMLOG_TEST_MATRIX_TRIES ?? 1);
/** Tries under way at once: most of a try is waiting. */
const AT_ONCE = 4;

/** How much faster the clock of a step runs: it measures nothing and is mostly idle. */
const CLOCK = 4;
const node = actionNode();
const azurite = azuriteBlobScript();
const results = new ResultsDouble();
let github: GitHubDouble;
let job: Job;

const WORDS = ["pass", "fail", "unjudged", "pass", "warn", "error"] as const;
const wordOf = (n: number) => WORDS[n % WORDS.length] ?? "pass";
const legName = (n: number) => `leg-${String(n).padStart(2, "0")}`;

function sectionOf(n: number): Section {
  const report = { ...sampleReport(wordOf(n)), session: `s-${n}` };
  return {
    gateId: "default",
    leg: legName(n),
    headSha: HEAD,
    runAttempt: 1,
    bundleArtifact: 1000 + n,
    timelineArtifact: null,
    report,
  };
}

/** A failure is repeated with the same seed. */
const random = prng(Number(process.env.STORMLOG_TEST_SEED ?? "1")).uniform;
const late = (most: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, random() * most));

/**
 * The artifact service in this process, late and out of order as behind a network. Over HTTP with the real client a
 * try reads some 150 artifacts, which is too slow to repeat. The first try does.
 */
function quickStore(): ArtifactStore {
  const stored = new Map<number, { name: string; bytes: Buffer }>();
  return {
    async upload(name, [file = ""]) {
      await late(15);
      stored.set(500 + stored.size, { name, bytes: readFileSync(file) });
      await late(15);
      return 499 + stored.size;
    },
    async list() {
      await late(15);
      return [...stored].map(([id, { name, bytes }]) => ({ id, name, size: bytes.length, digest: null }));
    },
    async read({ id }) {
      await late(15);
      return stored.get(id)?.bytes ?? new Uint8Array();
    },
  };
}

/** One leg as in its own job: it uploads its section, then keeps the comment with all sections that exist. */
async function runLeg(n: number, store: ArtifactStore, apiUrl: string): Promise<void> {
  const directory = mkdtempSync(path.join(job.directory, "leg-"));
  // Jobs of a matrix end about the same time, so that writes of one cross with reads of another.
  await late(400);
  const context = runContext(job.env);
  const own = sectionOf(n);
  const upload = await uploadSection({ store, context, retentionDays: null, deadline: { ms: 60_000 } }, own, directory);
  if (!upload.ok) throw new Error(upload.warning);
  const reader = sectionReader(store, "default", { headSha: HEAD, attempt: 1 });
  // Each leg has its own client without pauses between writes, so that the legs collide.
  const octokit = getOctokit("job", { baseUrl: apiUrl }) as unknown as Octokit;
  octokit.hook.before("request", () => late(60));
  await upsertSectionComment({
    octokit,
    gitData: null,
    context: { serverUrl: "https://github.com", owner: "octo", repo: "model" },
    pullRequest: { number: PR, headSha: HEAD },
    gateId: "default",
    sections: () => reader.read(),
    runId: 77,
    image: "none",
    log: () => {},
  });
}

/** Legs that a comment lists. */
function legsIn(body: string): readonly string[] {
  return [...new Set([...body.matchAll(/\bleg-\d\d\b/g)].map(([leg]) => leg))].sort();
}

beforeAll(async () => {
  if (azurite === null) return;
  await results.startWithBlobs(node, azurite);
}, 60_000);

afterAll(() => results.stop());

beforeEach(async () => {
  github = new GitHubDouble();
  await github.start();
  github.tokens.set("job", { login: BOT, write: true });
  github.heads.set(PR, HEAD);
  results.artifacts.length = 0;
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

describe.skipIf(azurite === null)("legs of a matrix", () => {
  /** All legs at once on a separate pull request. */
  const meet = async (store: ArtifactStore, legs = LEGS): Promise<void> => {
    const double = new GitHubDouble();
    await double.start();
    try {
      double.tokens.set("job", { login: BOT, write: true });
      double.heads.set(PR, HEAD);
      const all = Array.from({ length: legs }, (_, n) => n);
      await Promise.all(all.map((leg) => runLeg(leg, store, double.url)));
      expect(double.faults).toEqual([]);
      expect(double.comments).toHaveLength(1);
      const body = double.comments[0]?.body ?? "";
      expect(legsIn(body)).toEqual(all.map(legName));
      expect(body).toMatch(/^<!-- stormlog-gate:default -->\n### ❌ Memory: .*: `train-mlp` leaks /);
      const each = legs / WORDS.length;
      expect(body).toContain(` a step (${each} of ${legs} legs)\n`);
      expect(body).toContain(`**${each} fail, ${each} error, ${each} unjudged, ${each} warn, ${2 * each} pass.**`);
      for (const n of all) expect(body).toContain(`/actions/runs/77/artifacts/${1000 + n})`);
    } finally {
      await double.stop();
    }
  };

  it("legs that write at once leave one comment with all of them, read by the real client", async () => {
    await meet(await actionsArtifactStore(), 12);
  }, 120_000);

  const batches = Math.ceil(TRIES / AT_ONCE);
  it.each(Array.from({ length: batches }, (_, n) => Math.min(AT_ONCE, TRIES - n * AT_ONCE)))(
    "legs that write at once leave one comment with all of them, every time: %i tries at once",
    async (tries) => {
      await Promise.all(Array.from({ length: tries }, () => meet(quickStore())));
    },
    120_000,
  );

  it("legs that are built steps leave one comment with all of them", async () => {
    const legs = ["pass", "fail", "unjudged", "pass"] as const;
    const steps = await Promise.all(
      legs.map((run, n) => {
        const own = new Job(github.url, results.url).pullRequest(PR, HEAD);
        return runStepFile({
          node,
          script: path.join(BUILT, "action/prepared.js"),
          cwd: own.directory,
          env: own.env,
          inputs: { token: "job", run, matrix: JSON.stringify({ os: "linux", torch: `2.${n}` }) },
        }).finally(() => own.remove());
      }),
    );
    expect(steps.map(({ code }) => code)).toEqual([0, 4, 6, 0]);
    expect(github.comments).toHaveLength(1);
    const body = github.comments[0]?.body ?? "";
    expect(body).toMatch(/### ❌ Memory: linux-2\.1: `.* \(1 of 4 legs\)\n/);
    for (const n of [0, 1, 2, 3]) expect(body).toContain(`| linux-2.${n} |`);
    for (const { outputs } of steps) {
      expect(body).toContain(outputs["artifact-url"]);
      expect(outputs["comment-url"]).toBe(steps[0]?.outputs["comment-url"]);
    }
    expect(
      results.artifacts.map(({ name }) => name).filter((name) => name.startsWith("stormlog-section")),
    ).toHaveLength(4);
  }, 120_000);

  it("a leg that ran twice counts once, with its newer attempt", async () => {
    const step = (run: string, attempt: number) =>
      runStepFile({
        node,
        script: path.join(BUILT, "action/prepared.js"),
        cwd: job.directory,
        env: { ...job.env, GITHUB_RUN_ATTEMPT: String(attempt) },
        inputs: { token: "job", run, matrix: '{"os":"linux"}' },
      });
    await step("fail", 1);
    expect(github.comments[0]?.body).toMatch(/### ❌ Memory: .* \(1 leg\)\n/);
    await step("pass", 2);
    expect(results.artifacts.map(({ name }) => name)).toContain("stormlog-section-default-linux-attempt-2.json");
    expect(github.comments).toHaveLength(1);
    expect(github.comments[0]?.body).toContain("Memory: pass (1 leg)");
  }, 60_000);

  it("legs that cannot upload a section keep one comment each", async () => {
    results.failure = ({ body }) =>
      JSON.stringify(body ?? "").includes("stormlog-section")
        ? { kind: "status", status: 403, message: "quota" }
        : null;
    for (const os of ["linux", "windows"]) {
      const step = await runStepFile({
        node,
        script: path.join(BUILT, "action/prepared.js"),
        cwd: job.directory,
        env: job.env,
        inputs: { token: "job", run: "fail", matrix: JSON.stringify({ os }) },
        clock: CLOCK,
      });
      expect(step.code).toBe(4);
      expect(step.commands.filter(({ message }) => /Could not/.test(message))).toEqual([
        expect.objectContaining({ message: expect.stringContaining("upload the section") }),
      ]);
    }
    results.failure = () => null;
    expect(github.comments.map(({ body }) => body.split("\n")[0])).toEqual([
      "<!-- stormlog-gate:default/linux -->",
      "<!-- stormlog-gate:default/windows -->",
    ]);
  }, 60_000);
});
