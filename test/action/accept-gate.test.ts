import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Payload } from "../../src/report/model/report-schema.ts";
import { builtSteps } from "./testing/build-steps.ts";
import { Contents } from "./testing/double/contents.ts";
import { Permissions } from "./testing/double/permissions.ts";
import { openPull } from "./testing/double/pull-lookup.ts";
import { GitHubDouble } from "./testing/github-double.ts";
import { Job } from "./testing/job.ts";
import { runStepFile } from "./testing/mini-runner.ts";
import { actionNode } from "./testing/tools.ts";

/** Acceptances of a failing pull request: the built step, a real command, a real repository. */

const _ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BUILT = await builtSteps();
const PR = 7;
const AT = "2026-09-01T10:00:00Z";
const HEAD = "a".repeat(40);

const config = (budget: string, more = ""): string =>
  `scenarios:\n  - name: train\n    run: ["${process.execPath}", work.mjs]\n    budget: { host: ${budget} }\nbaseline: none\n${more}`;
const work = (mebibytes: number): string =>
  `const keep = Buffer.alloc(${mebibytes} * 2 ** 20, 1); setTimeout(() => keep.length, 250);\n`;

let github: GitHubDouble;
let people: Permissions;
let job: Job;
let workspace: string;

const git = (...args: readonly string[]): string =>
  execFileSync("git", ["-C", workspace, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
    encoding: "utf8",
  });

/** Commit a command that holds so much memory, and its configuration. */
function push(mebibytes: number, budget = "40MiB"): void {
  writeFileSync(path.join(workspace, "work.mjs"), work(mebibytes));
  writeFileSync(path.join(workspace, "stormlog-gate.yml"), config(budget));
  git("add", ".");
  git("commit", "--quiet", "--allow-empty", "-m", "change");
}

async function gate(cwd = workspace) {
  const result = await runStepFile({
    node: actionNode(),
    script: path.join(BUILT, "action/main.js"),
    cwd,
    env: { ...job.env, GITHUB_WORKSPACE: cwd, GITHUB_BASE_REF: "main", RUNNER_DEBUG: "0" },
    inputs: {
      token: "job",
      comment: "never",
      attribute: "off",
      probe: "off",
      "base-run": "off",
      // A budget needs no more runs to fail.
      repeats: "1",
      "artifact-name": `run-${Math.random()}`,
    },
    timeoutMs: 60_000,
  });
  expect(github.faults, result.log).toEqual([]);
  const file = result.outputs["report-path"] ?? "";
  const { payload } = JSON.parse(readFileSync(file, "utf8")) as { readonly payload: Payload };
  const warnings = result.commands.filter(({ command }) => command === "warning").map(({ message }) => message);
  const { code, log, summary } = result;
  return { code, payload, scenario: payload.scenarios[0], warnings, log, summary };
}

beforeAll(async () => {}, 60_000);

beforeEach(async () => {
  workspace = mkdtempSync(path.join(tmpdir(), "stormlog-accepted-"));
  git("init", "--quiet", "--initial-branch=main");
  push(100);
  git("update-ref", "refs/remotes/origin/main", "HEAD");
  git("checkout", "--quiet", "-b", "topic");
  github = new GitHubDouble();
  people = new Permissions();
  github.use(new Contents(workspace).routes).use(people.routes);
  await github.start();
  github.tokens.set("job", { login: "github-actions[bot]", write: false });
  people.roles.set("ann", "write");
  people.roles.set("bob", "read");
  openPull(github, { number: PR, headSha: HEAD });
  job = new Job(github.url, null).pullRequest(PR, HEAD);
});

afterEach(async () => {
  await github.stop();
  job.remove();
  rmSync(workspace, { recursive: true, force: true });
});

describe("a red scenario", { timeout: 90_000 }, () => {
  it("an acceptance turns a failure into a warning until a push makes the difference larger", async () => {
    push(100);
    const red = await gate();
    const token = red.scenario?.difference ?? "";
    expect([red.code, red.scenario?.verdict]).toEqual([4, "fail"]);
    expect(token).toMatch(/^[0-9a-f]{12}-hhpm\d+$/);

    github.addComment(PR, "bob", `/stormlog accept ${token} I like it`, AT);
    const still = await gate();
    expect(still.code).toBe(4);
    expect(still.scenario?.difference).toBe(token);
    expect(still.warnings.filter((one) => one.includes("bob has read permission"))).toHaveLength(1);

    github.addComment(PR, "ann", `/stormlog accept ${token} the cache is worth it`, AT);
    const accepted = await gate();
    expect(accepted.code).toBe(0);
    expect(accepted.payload).toMatchObject({
      verdict: "warn",
      exit_code: 0,
      scenarios: [
        {
          verdict: "warn",
          judgement: { verdict: "fail" },
          accepted: { by: "ann", reason: "the cache is worth it", via: "comment", difference: token },
        },
      ],
    });

    push(220);
    const larger = await gate();
    expect(larger.code).toBe(4);
    expect(
      larger.warnings.filter((one) =>
        /the acceptance by ann .* is for a smaller difference than the one found now/.test(one),
      ),
    ).toHaveLength(1);
  });

  it("a failure stays, with one warning, when GitHub refuses to list comments", async () => {
    push(100);
    github.failure = ({ path: route }) =>
      /\/(comments|pulls)\b/.test(route) ? { kind: "status", status: 403, message: "Resource not accessible" } : null;
    const { code, warnings } = await gate();
    expect(code).toBe(4);
    expect(warnings.filter((one) => one.includes("pull-requests: read"))).toHaveLength(1);
  });

  it("a passing gate sends no request to GitHub", async () => {
    writeFileSync(path.join(workspace, "stormlog-gate.yml"), config("40MiB"));
    push(1, "1GiB");
    git("update-ref", "refs/remotes/origin/main", "HEAD");
    push(1, "1GiB");
    const { code, payload } = await gate();
    expect([code, payload.verdict]).toEqual([0, "pass"]);
    expect(github.requests).toEqual([]);
  });
});

describe("a change to the gate's own settings", { timeout: 90_000 }, () => {
  it("a change of the gate's settings passes once exactly that change is accepted", async () => {
    push(100, "1GiB");
    const red = await gate();
    expect([red.code, red.payload.verdict]).toEqual([4, "fail"]);
    const token = red.payload.policy_difference ?? "";
    github.addComment(PR, "ann", `/stormlog accept ${token} a larger budget was agreed on`, AT);
    const green = await gate();
    expect(green.code).toBe(0);
    expect(green.payload).toMatchObject({
      verdict: "pass",
      policy_changes: [{ path: "scenarios.train.budget.host", base: "40MiB", head: "1GiB" }],
      policy_accepted: { by: "ann" },
    });
    push(100, "2GiB");
    expect((await gate()).code).toBe(4);
  });

  it("a change that edits, renames and removes scenarios exits 6 until the printed command accepts it", async () => {
    const scenario = (name: string, more = ""): string =>
      `  - name: ${name}\n    run: ["${process.execPath}", work.mjs]\n    budget: { host: 200MiB }\n${more}`;
    const commit = (scenarios: string, mebibytes: number): void => {
      writeFileSync(path.join(workspace, "work.mjs"), work(mebibytes));
      writeFileSync(
        path.join(workspace, "stormlog-gate.yml"),
        `scenarios:\n${scenarios}baseline: none\npolicy: { unjudged: pass }\n`,
      );
      git("add", ".");
      git("commit", "--quiet", "-m", "scenarios");
    };
    git("checkout", "--quiet", "main");
    commit(scenario("train") + scenario("eval") + scenario("serve"), 100);
    git("update-ref", "refs/remotes/origin/main", "HEAD");
    git("checkout", "--quiet", "-B", "topic");
    const edited = scenario("train", "    env: { MALLOC_ARENA_MAX: '1' }\n") + scenario("infer");
    commit(edited, 100);
    const verdicts = ({ scenarios }: Payload) => scenarios.map((one) => [one.scenario, one.verdict]);

    const open = await gate();
    expect([open.code, open.payload.verdict], open.log).toEqual([6, "unjudged"]);
    expect(open.payload.policy_changes?.length).toBeGreaterThan(0);
    const printed = new Set(open.summary.replaceAll("\\", "").match(/\/stormlog accept [0-9a-f]{32}-policy <reason>/g));
    expect([...printed]).toEqual([`/stormlog accept ${open.payload.policy_difference} <reason>`]);

    const [command = ""] = printed;
    github.addComment(PR, "ann", command.replace("<reason>", "the model was split"), AT);
    const accepted = await gate();
    expect([accepted.code, accepted.payload.verdict], accepted.log).toEqual([0, "pass"]);
    expect(accepted.payload.policy_accepted).toMatchObject({ by: "ann" });
    expect(verdicts(accepted.payload)).toEqual([
      ["train", "pass"],
      ["infer", "pass"],
    ]);

    commit(edited, 300);
    const breached = await gate();
    expect(breached.code, breached.log).toBe(4);
    expect(verdicts(breached.payload)).toEqual([
      ["train", "fail"],
      ["infer", "fail"],
    ]);
  });

  it("a change of the gate's settings is found in a shallow clone by asking GitHub", async () => {
    push(100, "1GiB");
    const shallow = mkdtempSync(path.join(tmpdir(), "stormlog-shallow-"));
    try {
      execFileSync("git", ["clone", "--quiet", "--depth=1", "--branch=topic", `file://${workspace}`, shallow]);
      const { code, payload } = await gate(shallow);
      expect(code).toBe(4);
      expect(payload.policy_changes).toHaveLength(1);
      github.failure = ({ path: route }) => (/\/contents\//.test(route) ? { kind: "status", status: 500 } : null);
      const unknown = await gate(shallow);
      expect(unknown.code).toBe(0);
      expect(unknown.warnings.filter((one) => one.includes("fetch-depth: 0"))).toHaveLength(1);
    } finally {
      rmSync(shallow, { recursive: true, force: true });
    }
  });
});
