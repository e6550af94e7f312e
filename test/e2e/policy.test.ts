import { execFileSync } from "node:child_process";
import { cpSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { cli, freshDirectory } from "./cli.ts";

/**
 * The base commit's settings judge a change: a real repository, a real command of about 100 MiB, the command line as
 * shipped.
 */

const WORK = "const keep = Buffer.alloc(100 * 2 ** 20, 1); setTimeout(() => keep.length, 800);\n";
const PIPELINE = { CI: "true", STORMLOG_GATE_BASE: "main" };

interface Payload {
  readonly verdict: string;
  readonly policy_changes?: readonly {
    readonly path: string;
    readonly base: string | null;
    readonly head: string | null;
  }[];
  readonly policy_difference?: string;
  readonly warnings: readonly string[];
  readonly scenarios: readonly {
    readonly scenario: string;
    readonly verdict: string;
    readonly judgement: { readonly reason: string } | null;
  }[];
}

function git(cwd: string, ...args: readonly string[]): void {
  execFileSync("git", ["-C", cwd, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args]);
}

function write(cwd: string, config: string): void {
  writeFileSync(path.join(cwd, "stormlog-gate.yml"), config);
}

const scenario = (name: string, budget: string, run = `["${process.execPath}", work.mjs]`): string =>
  `  - name: ${name}\n    run: ${run}\n    budget: { host: ${budget} }\n`;
const config = (scenarios: string, policy = ""): string => `scenarios:\n${scenarios}baseline: none\n${policy}`;

/** A clone on a branch `feature` of a main branch with this configuration. */
function change(base: string | null, head: string): string {
  const cwd = freshDirectory();
  git(cwd, "init", "--quiet", "--initial-branch=main");
  writeFileSync(path.join(cwd, "work.mjs"), WORK);
  if (base !== null) write(cwd, base);
  git(cwd, "add", ".");
  git(cwd, "commit", "--quiet", "-m", "base");
  git(cwd, "checkout", "--quiet", "-b", "feature");
  write(cwd, head);
  git(cwd, "add", ".");
  git(cwd, "commit", "--quiet", "--allow-empty", "-m", "change");
  return cwd;
}

async function gate(cwd: string, env: Readonly<Record<string, string>> = PIPELINE) {
  const { code, stdout, stderr } = await cli(["run", "--json", "--attribute", "off"], { cwd, env });
  const report = JSON.parse(stdout) as { readonly payload: Payload };
  return { code, payload: report.payload, stderr };
}

describe("the policy of a pull request", { timeout: 60_000 }, () => {
  let raised: string;
  beforeAll(() => {
    raised = change(config(scenario("train", "40MiB")), config(scenario("train", "1GiB")));
  });

  it("the policy is the base commit's: a budget that the change raises stays breached and is listed", async () => {
    const { code, payload, stderr } = await gate(raised);
    expect(code).toBe(4);
    expect(payload).toMatchObject({
      verdict: "fail",
      policy_changes: [{ path: "scenarios.train.budget.host", base: "40MiB", head: "1GiB" }],
      policy_difference: expect.stringMatching(/^[0-9a-f]{32}-policy$/),
    });
    expect(stderr).toContain("not in force: scenarios.train.budget.host");
  });

  it("the policy is the change's own outside a pipeline and on the base branch", async () => {
    expect(await gate(raised, { STORMLOG_GATE_BASE: "main" })).toMatchObject({ code: 0, payload: { verdict: "pass" } });
    expect(await gate(raised, { CI: "true" })).toMatchObject({ code: 0, payload: { verdict: "pass" } });
  });

  it("the policy is the change's own, with one warning, where the clone does not reach the base", async () => {
    const shallow = freshDirectory();
    git(shallow, "clone", "--quiet", "--depth=1", "--branch=feature", `file://${raised}`, ".");
    const { code, payload } = await gate(shallow, { CI: "true", GITHUB_BASE_REF: "main" });
    expect(code).toBe(0);
    expect(payload.warnings.filter((warning) => warning.includes("fetch-depth: 0"))).toHaveLength(1);
  });

  it("the policy is the change's own and reported as new where the base commit has none", async () => {
    const { code, payload } = await gate(change(null, config(scenario("train", "1GiB"))));
    expect(code).toBe(0);
    expect(payload.warnings).toContainEqual(expect.stringContaining("the base commit has none"));
    expect(payload.policy_changes).toBeUndefined();
  });

  it("the policy is the change's own, with a warning, where the base commit's cannot be read", async () => {
    const { code, payload } = await gate(change("scenarios: 5\n", config(scenario("train", "1GiB"))));
    expect(code).toBe(0);
    expect(payload.warnings).toContainEqual(expect.stringMatching(/of the base commit .*: scenarios/));
  });

  it("the policy of a change applies at once where it is tighter", async () => {
    const { code, payload } = await gate(change(config(scenario("train", "1GiB")), config(scenario("train", "40MiB"))));
    expect(code).toBe(4);
    expect(payload.policy_changes).toBeUndefined();
    expect(payload.warnings).toContainEqual(expect.stringContaining("1GiB before"));
  });

  it("the policy keeps a scenario that the change removes as unjudged", async () => {
    const both = config(scenario("train", "1GiB") + scenario("eval", "1GiB"));
    const { code, payload } = await gate(change(both, config(scenario("train", "1GiB"))));
    expect(code).toBe(6);
    expect(payload.scenarios).toMatchObject([
      { scenario: "train", verdict: "pass" },
      { scenario: "eval", verdict: "unjudged", judgement: { reason: expect.stringContaining("removes the scenario") } },
    ]);
  });

  it("the policy leaves a scenario whose command changed unjudged", async () => {
    const head = config(scenario("train", "1GiB", `["${process.execPath}", "-e", "setTimeout(() => {}, 200)"]`));
    const { code, payload } = await gate(change(config(scenario("train", "1GiB")), head));
    expect(code).toBe(6);
    expect(payload.policy_changes).toMatchObject([{ path: "scenarios.train.run" }]);
    expect(payload.scenarios[0]?.judgement?.reason).toContain("alters what the scenario runs");
  });

  it("a change of the policy cannot turn unjudged into a pass", async () => {
    const base = config(scenario("train", "1GiB") + scenario("eval", "1GiB"));
    const head = config(scenario("train", "1GiB"), "policy: { unjudged: pass }\n");
    const { code, payload } = await gate(change(base, head));
    expect(code).toBe(6);
    expect(payload.policy_changes?.map(({ path: place }) => place)).toEqual(["scenarios.eval", "policy.unjudged"]);
  });

  it("the policy's change is a warning and passes when no scenario fails", async () => {
    const { code, payload } = await gate(change(config(scenario("train", "1GiB")), config(scenario("train", "2GiB"))));
    expect([code, payload.verdict, payload.scenarios[0]?.verdict]).toEqual([0, "warn", "pass"]);
  });

  it("the base's policy is found from a directory below the top and when the base branch moved on", async () => {
    const cwd = change(config(scenario("train", "1GiB")), config(scenario("train", "1GiB")));
    git(cwd, "checkout", "--quiet", "main");
    const sub = path.join(cwd, "jobs/memory");
    cpSync(path.join(cwd, "work.mjs"), path.join(sub, "work.mjs"), { recursive: true });
    write(sub, config(scenario("train", "40MiB")));
    git(cwd, "add", ".");
    git(cwd, "commit", "--quiet", "-m", "a gate below the top");
    git(cwd, "checkout", "--quiet", "-b", "other");
    write(sub, config(scenario("train", "3GiB")));
    git(cwd, "commit", "--quiet", "-am", "raised");
    git(cwd, "checkout", "--quiet", "main");
    write(sub, config(scenario("train", "4GiB")));
    git(cwd, "commit", "--quiet", "-am", "main goes its own way");
    git(cwd, "checkout", "--quiet", "other");
    const { code, payload } = await gate(sub);
    expect(code).toBe(4);
    expect(payload.policy_changes).toMatchObject([{ base: "40MiB", head: "3GiB" }]);
  });
});
