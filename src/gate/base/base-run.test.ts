import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ScenarioRequest } from "../../config/gate-request.ts";
import { type HistoryPort, viewRepository } from "../../git/repository-view.ts";
import { baseRunPlanner, checkOutBase } from "./base-run.ts";

let directory: string;

const planOf = async (
  mode: Parameters<typeof baseRunPlanner>[0],
  of: ScenarioRequest,
  env: Readonly<Record<string, string>>,
  knownGood: string | null = null,
  history?: HistoryPort,
) => (await baseRunPlanner(mode, await viewRepository(of.cwd, env, history)))(knownGood);

function git(cwd: string, ...args: string[]): string {
  return execFileSync("git", ["-C", cwd, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
    encoding: "utf8",
  }).trim();
}

const scenario = (cwd: string): ScenarioRequest => ({
  name: "s",
  command: { kind: "argv", argv: ["true"] },
  cwd,
  env: {},
  timeoutS: null,
  horizon: null,
  budgets: [],
  repeats: "auto",
  definition: null,
});

/** A repository whose main branch has one commit and whose feature branch changes the file of a subdirectory. */
function repository(): { readonly top: string; readonly base: string } {
  const top = path.join(directory, "repo");
  mkdirSync(path.join(top, "sub"), { recursive: true });
  git(directory, "init", "--quiet", "--initial-branch=main", top);
  writeFileSync(path.join(top, "sub", "train.txt"), "clean");
  git(top, "add", ".");
  git(top, "commit", "--quiet", "-m", "base");
  const base = git(top, "rev-parse", "HEAD");
  return { top, base };
}

function feature(top: string): void {
  git(top, "checkout", "--quiet", "-b", "feature");
  writeFileSync(path.join(top, "sub", "train.txt"), "leaky");
  git(top, "commit", "--quiet", "-am", "leak");
}

beforeEach(() => {
  directory = realpathSync(mkdtempSync(path.join(tmpdir(), "stormlog-gate-base-test-")));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe("running the base commit", () => {
  it("a base run checks the merge base out beside the repository, in the same subdirectory, and cleans up", async () => {
    const { top, base } = repository();
    feature(top);
    const plan = await planOf({ kind: "auto" }, scenario(path.join(top, "sub")), {});
    expect(plan).toMatchObject({ kind: "worktree", commit: base });
    const checkout = await checkOutBase(plan, scenario(path.join(top, "sub")));
    if (!("dispose" in checkout)) throw new Error(checkout.reason);
    expect(readFileSync(path.join(checkout.cwd, "train.txt"), "utf8")).toBe("clean");
    expect(readFileSync(path.join(top, "sub", "train.txt"), "utf8")).toBe("leaky");
    await checkout.dispose();
    expect(existsSync(checkout.cwd)).toBe(false);
    expect(git(top, "worktree", "list").split("\n")).toHaveLength(1);
  });

  it("a base run finds the subdirectory also through a symbolic link", async () => {
    const { top } = repository();
    feature(top);
    const link = path.join(directory, "link");
    symlinkSync(path.join(top, "sub"), link);
    const checkout = await checkOutBase(await planOf({ kind: "auto" }, scenario(link), {}), scenario(link));
    if (!("dispose" in checkout)) throw new Error(checkout.reason);
    expect(readFileSync(path.join(checkout.cwd, "train.txt"), "utf8")).toBe("clean");
    await checkout.dispose();
  });

  it("a base run is impossible on the base commit itself, which would dismiss the breach by its own leak", async () => {
    const { top } = repository();
    expect(await planOf({ kind: "auto" }, scenario(top), {})).toMatchObject({
      kind: "impossible",
      reason: expect.stringMatching(/base commit itself/),
    });
  });

  it("a base run is impossible in a shallow clone where the main branch is unknown", async () => {
    const { top } = repository();
    feature(top);
    const clone = path.join(directory, "clone");
    git(directory, "clone", "--quiet", "--depth", "1", "--branch", "feature", `file://${top}`, clone);
    expect(await planOf({ kind: "auto" }, scenario(clone), {})).toMatchObject({
      kind: "impossible",
      reason: expect.stringMatching(/shallow.*fetch-depth: 0/),
    });
  });

  it("the base commit is found and fetched in a shallow clone with a history port", async () => {
    const { top, base } = repository();
    feature(top);
    const clone = path.join(directory, "clone");
    git(directory, "clone", "--quiet", "--depth", "1", "--branch", "feature", `file://${top}`, clone);
    const history: HistoryPort = {
      baseBranch: async () => null,
      mergeBase: async (head, branch) => git(top, "merge-base", head, branch),
      behind: async () => new Set(),
    };
    const there = scenario(path.join(clone, "sub"));
    const plan = await planOf({ kind: "auto" }, there, { GITHUB_BASE_REF: "main" }, null, history);
    expect(plan).toMatchObject({ kind: "worktree", commit: base });
    const checkout = await checkOutBase(plan, there);
    if ("reason" in checkout) throw new Error(checkout.reason);
    expect(git(checkout.cwd, "rev-parse", "HEAD")).toBe(base);
    await checkout.dispose();
  });

  it("a base run is impossible in a directory that the base commit does not have", async () => {
    const { top } = repository();
    git(top, "checkout", "--quiet", "-b", "feature");
    mkdirSync(path.join(top, "new"));
    writeFileSync(path.join(top, "new", "train.txt"), "new");
    git(top, "add", ".");
    git(top, "commit", "--quiet", "-m", "new directory");
    const there = scenario(path.join(top, "new"));
    const checkout = await checkOutBase(await planOf({ kind: "auto" }, there, {}), there);
    expect(checkout).toMatchObject({ reason: expect.stringMatching(/has no directory new/) });
    expect(git(top, "worktree", "list").split("\n")).toHaveLength(1);
  });

  it("a base run is possible on the base commit when the working tree was changed", async () => {
    const { top, base } = repository();
    writeFileSync(path.join(top, "sub", "train.txt"), "leaky, not committed");
    expect(await planOf({ kind: "auto" }, scenario(top), {})).toMatchObject({ kind: "worktree", commit: base });
  });

  it("a base run takes the pull request's base branch where the runner names one", async () => {
    const { top, base } = repository();
    git(top, "update-ref", "refs/remotes/origin/release", base);
    git(top, "commit", "--quiet", "--allow-empty", "-m", "main moved on");
    feature(top);
    expect(await planOf({ kind: "auto" }, scenario(top), { GITHUB_BASE_REF: "release" })).toMatchObject({
      commit: base,
    });
  });

  it("a base run has a reason outside a repository, without a main branch, and when it is off", async () => {
    expect(await planOf({ kind: "auto" }, scenario(directory), {})).toMatchObject({
      reason: expect.stringMatching(/git repository/),
    });
    const { top } = repository();
    git(top, "branch", "-m", "trunk");
    expect(await planOf({ kind: "auto" }, scenario(top), {})).toMatchObject({
      reason: expect.stringMatching(/merge base/),
    });
    expect(await planOf({ kind: "off" }, scenario(top), {})).toMatchObject({ kind: "impossible" });
  });

  it("a base run uses the command of --base-run unchanged", async () => {
    const plan = await planOf({ kind: "command", script: "./run-base.sh" }, scenario(directory), {});
    expect(await checkOutBase(plan, scenario(directory))).toMatchObject({
      command: { kind: "shell", script: "./run-base.sh" },
      cwd: directory,
    });
  });
});
