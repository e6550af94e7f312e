import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { MeasuredRun } from "../../src/analysis/measurements.ts";
import type { BaselineRecord } from "../../src/baseline/record.ts";
import { addRuns, emptyRecord } from "../../src/baseline/record-changes.ts";
import { serializeRecord } from "../../src/baseline/record-size.ts";
import { recordName } from "../../src/baseline/store.ts";
import { ANCHORS_FILE } from "../../src/gate/scenario/anchor.ts";
import { anchorOf, serializeAnchors } from "../../src/gate/scenario/anchor-changes.ts";
import type { Fingerprint } from "../../src/telemetry/recording/model.ts";
import { builtSteps } from "./testing/build-steps.ts";
import { GitDataDouble } from "./testing/double/git-data.ts";
import { HistoryDouble } from "./testing/double/history.ts";
import { GitHubDouble } from "./testing/github-double.ts";
import { Job } from "./testing/job.ts";
import { runStepFile, type StepResult } from "./testing/mini-runner.ts";
import { actionNode } from "./testing/tools.ts";

const _ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BUILT = await builtSteps();
const REF = "refs/stormlog/baselines";
const DAY_MS = 86_400_000;

/** The built step with an unusable baseline on the ref, read over GitHub's API. */
describe.skipIf(process.platform !== "linux")("a baseline on the ref that cannot be compared with", () => {
  const github = new GitHubDouble();
  let git: GitDataDouble;
  let job: Job;
  let workspace: string;
  let fingerprint: Fingerprint;
  let measured: MeasuredRun;

  const gate = (inputs: Readonly<Record<string, string>> = {}): Promise<StepResult> =>
    runStepFile({
      node: actionNode(),
      script: path.join(BUILT, "action/main.js"),
      cwd: workspace,
      env: { ...job.env, GITHUB_WORKSPACE: workspace, GITHUB_EVENT_NAME: "push", GITHUB_REF: "refs/heads/topic" },
      inputs: { token: "job", baseline: `ref:${REF}`, probe: "off", "base-run": "off", ...inputs },
      timeoutMs: 60_000,
    });

  /** A record as nightly runs leave it: five sessions of what was measured here, the newest so many days ago. */
  const record = (daysAgo: number, over: Fingerprint = {}): BaselineRecord => {
    const runs = [4, 3, 2, 1, 0].map((at) => ({
      measured: { ...measured, session: `night-${at}`, commit: null },
      timeIso: new Date(Date.now() - (daysAgo + at) * DAY_MS).toISOString(),
      approved: true,
    }));
    return addRuns(emptyRecord("train", { ...fingerprint, ...over }), runs);
  };

  /** Put a single file on the ref. */
  const put = (name: string, text: string): void => {
    const input = (args: readonly string[], stdin: string): string =>
      execFileSync("git", ["--git-dir", git.directory, ...args], {
        encoding: "utf8",
        input: stdin,
        env: {
          ...process.env,
          GIT_AUTHOR_NAME: "t",
          GIT_AUTHOR_EMAIL: "t@x",
          GIT_COMMITTER_NAME: "t",
          GIT_COMMITTER_EMAIL: "t@x",
        },
      }).trim();
    const [directory = "", file = ""] = name.split("/");
    const blob = input(["hash-object", "-w", "--stdin"], text);
    const inner = input(["mktree"], `100644 blob ${blob}\t${file}\n`);
    const badge = input(["hash-object", "-w", "--stdin"], "{}");
    const tree = input(["mktree"], `100644 blob ${badge}\tbadge.json\n040000 tree ${inner}\t${directory}\n`);
    input(["update-ref", REF, input(["commit-tree", tree, "-m", "baselines"], "")], "");
  };

  const nameOf = (): string => recordName("train", fingerprint);

  beforeAll(async () => {
    job = new Job("", null);
    workspace = path.join(job.directory, "workspace");
    mkdirSync(workspace);
    execFileSync("git", ["init", "--quiet", "--initial-branch=main"], { cwd: workspace });
    writeFileSync(
      path.join(workspace, "stormlog-gate.yml"),
      `scenarios:\n  - name: train\n    run: [${JSON.stringify(process.execPath)}, -e, "const b = Buffer.alloc(5e7, 1); setTimeout(() => b.fill(2), 400)"]\n`,
    );
    const commit = ["-c", "user.name=t", "-c", "user.email=t@x", "commit", "--quiet", "--all", "--message", "x"];
    execFileSync("git", ["add", "--all"], { cwd: workspace });
    execFileSync("git", commit, { cwd: workspace });
    git = new GitDataDouble(path.join(workspace, ".git"));
    git.delayMs = 1;
    github.use(git.routes).use(new HistoryDouble(git.directory).routes);
    await github.start();
    github.tokens.set("job", { login: "github-actions[bot]", write: true });
    Object.assign(job.env, { GITHUB_API_URL: github.url, GITHUB_GRAPHQL_URL: `${github.url}/graphql` });
  }, 90_000);

  afterAll(async () => {
    await github.stop();
    git.dispose();
    job.remove();
    expect(github.faults).toEqual([]);
  });

  it("a missing baseline is unjudged with a next step, and exits 6 with unjudged: fail", async () => {
    const result = await gate();
    expect([result.code, result.outputs.verdict], result.log).toEqual([0, "unjudged"]);
    expect(result.summary).toContain("**No baseline yet.");
    expect(result.summary).toContain("baseline refresh");
    const strict = await gate({ unjudged: "fail" });
    expect([strict.code, strict.outputs["exit-code"]]).toEqual([6, "6"]);
    // From here on, records are made of what was measured.
    const bundle = result.outputs["bundle-path"] ?? "";
    const document = JSON.parse(readFileSync(path.join(bundle, "measurements.json"), "utf8"));
    fingerprint = document.fingerprint;
    measured = document.runs[0];
  }, 60_000);

  it("a usable baseline passes, which is the control of the other tests", async () => {
    put(nameOf(), serializeRecord(record(1)));
    const result = await gate();
    expect([result.code, result.outputs.verdict], result.log).toEqual([0, "pass"]);
  }, 60_000);

  it("a run within its baseline fails beyond a release anchor", async () => {
    put(nameOf(), serializeRecord(record(1)));
    const low = measured.series.map((series) => ({ ...series, peak_bytes: Math.round((series.peak_bytes ?? 0) / 2) }));
    const anchor = anchorOf("train", fingerprint, [{ ...measured, series: low }], {
      setIso: "2026-01-01",
      commit: null,
    });
    const file = path.join(workspace, ANCHORS_FILE);
    writeFileSync(file, serializeAnchors([anchor]));
    const result = await gate();
    rmSync(file);
    expect([result.code, result.outputs.verdict], result.log).toEqual([4, "fail"]);
    const checks = JSON.parse(result.outputs.results ?? "[]")[0].checks as { limit: string; verdict: string }[];
    expect(checks.filter(({ verdict }) => verdict === "fail").map(({ limit }) => limit)).toEqual(["anchor"]);
    writeFileSync(file, "{");
    const broken = await gate();
    rmSync(file);
    expect([broken.code, broken.outputs.verdict]).toEqual([5, "error"]);
  }, 60_000);

  it.each<[string, () => [string, string], RegExp]>([
    ["is stale", () => [nameOf(), serializeRecord(record(400))], /\d+ days/],
    [
      "comes from another environment",
      () => [
        recordName("train", { ...fingerprint, backend: "cuda", world_size: 8 }),
        serializeRecord(record(1, { backend: "cuda", world_size: 8 })),
      ],
      /backend/,
    ],
    ["is cut in the middle", () => [nameOf(), serializeRecord(record(1)).slice(0, 700)], /not complete JSON/],
    [
      "is of a future schema",
      () => [nameOf(), serializeRecord(record(1)).replace("stormlog.baseline/1", "stormlog.baseline/2")],
      /stormlog&#46;baseline&#47;2|stormlog\.baseline\/2/,
    ],
    [
      "holds only sessions without an approval",
      () => [nameOf(), serializeRecord(record(1)).replaceAll('"approved":true', '"approved":false')],
      /approved/i,
    ],
  ])(
    "a baseline that %s is unjudged, with the reason and the next step",
    async (_what, make, reason) => {
      const [name, text] = make();
      put(name, text);
      const result = await gate({ unjudged: "fail" });
      expect([result.code, result.outputs.verdict], result.log).toEqual([6, "unjudged"]);
      const shown = result.commands.map(({ message }) => message).join("\n") + result.summary;
      expect(shown).toMatch(reason);
      expect(shown).toMatch(/refresh|newer stormlog-gate/);
      const checks = JSON.parse(result.outputs.results ?? "[]")[0].checks as { limit: string; verdict: string }[];
      expect(checks.filter(({ limit }) => limit === "baseline").map(({ verdict }) => verdict)).not.toContain("fail");
    },
    60_000,
  );

  it("a baseline that GitHub refuses to show is unjudged, with one warning", async () => {
    put(nameOf(), serializeRecord(record(1)));
    github.failure = ({ path: asked }) =>
      asked.includes("/git/") ? { kind: "status", status: 403, message: "no" } : null;
    const result = await gate();
    github.failure = () => null;
    expect([result.code, result.outputs.verdict], result.log).toEqual([0, "unjudged"]);
    const shown = result.commands.filter(({ message }) => message.includes("contents: read"));
    expect(shown).toHaveLength(1);
  }, 60_000);
});
