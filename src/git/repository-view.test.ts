import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Environment } from "../core/process/environment.ts";
import { type HistoryPort, namedBase, viewRepository } from "./repository-view.ts";

let top: string;
const git = (...args: string[]): string =>
  execFileSync("git", ["-C", top, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
    encoding: "utf8",
  }).trim();
const commit = (message: string): string => {
  git("commit", "--quiet", "--allow-empty", "-m", message);
  return git("rev-parse", "HEAD");
};
const event = (payload: unknown): string => {
  const file = path.join(top, "event.json");
  writeFileSync(file, JSON.stringify(payload));
  return file;
};

interface Given {
  readonly cwd: string;
  readonly env: Environment;
  readonly history?: HistoryPort;
}
const view = ({ cwd, env, history }: Given) => viewRepository(cwd, env, history);
const mergeBase = async (cwd: string, env: Environment) => (await view({ cwd, env })).mergeBase();
const baseCommit = async (given: Given) => (await view(given)).baseCommit();
const comparableCommits = async (given: Given, asked: readonly string[]) =>
  (await view(given)).comparableCommits(asked);

beforeEach(() => {
  top = mkdtempSync(path.join(tmpdir(), "stormlog-gate-ancestors-"));
  git("init", "--quiet", "--initial-branch=main");
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

describe("commits a baseline may come from", () => {
  it("comparable commits are HEAD and its ancestors outside a pull request", async () => {
    const first = commit("first");
    const second = commit("second");
    expect((await comparableCommits({ cwd: top, env: {} }, [])).commits).toEqual(new Set([first, second]));
  });

  it("comparable commits are the merge base and its ancestors on a pull request, not its own commits", async () => {
    const base = commit("base");
    git("update-ref", "refs/remotes/origin/main", base);
    git("checkout", "--quiet", "-b", "feature");
    commit("change");
    const { commits } = await comparableCommits({ cwd: top, env: { GITHUB_BASE_REF: "main" } }, []);
    expect(commits).toEqual(new Set([base]));
    expect(await mergeBase(top, { GITHUB_BASE_REF: "main" })).toBe(base);
  });

  it("a tag that has the short name of the base branch does not replace it", async () => {
    const base = commit("base");
    git("update-ref", "refs/remotes/origin/main", base);
    git("update-ref", "refs/remotes/origin/HEAD", base);
    git("checkout", "--quiet", "-b", "feature");
    commit("change");
    for (const name of ["origin/main", "origin/HEAD", "main"]) git("update-ref", `refs/tags/${name}`, "HEAD");
    for (const env of [
      {},
      { GITHUB_BASE_REF: "main" },
      { STORMLOG_GATE_BASE: "main" },
      { STORMLOG_GATE_BASE: "origin/main" },
    ]) {
      expect(await mergeBase(top, env)).toBe(base);
      expect(await baseCommit({ cwd: top, env })).toBe(base);
    }
    git("update-ref", "-d", "refs/remotes/origin/main");
    expect(await mergeBase(top, { GITHUB_BASE_REF: "main" })).toBeNull();
    expect(await mergeBase(top, { STORMLOG_GATE_BASE: "--all" })).toBeNull();
  });

  it("the base of `STORMLOG_GATE_BASE` may be a tag, a commit or an expression", async () => {
    const base = commit("base");
    git("tag", "v1");
    commit("change");
    for (const name of ["v1", "refs/tags/v1", "HEAD~1", base]) {
      expect(await mergeBase(top, { STORMLOG_GATE_BASE: name })).toBe(base);
    }
  });

  it("the base of a merge group is its parent, which has the pull requests ahead of it", async () => {
    const main = commit("main");
    git("update-ref", "refs/remotes/origin/release", main);
    const ahead = commit("ahead in the queue");
    commit("change");
    const file = event({ merge_group: { base_sha: ahead } });
    const queue = {
      GITHUB_EVENT_NAME: "merge_group",
      GITHUB_REF: `refs/heads/gh-readonly-queue/release/pr-7-${ahead}`,
    };
    expect(namedBase(queue)).toBe("origin/release");
    expect(await mergeBase(top, queue)).toBe(main);
    expect(await mergeBase(top, { ...queue, GITHUB_EVENT_PATH: file })).toBe(ahead);
    expect(await baseCommit({ cwd: top, env: { ...queue, GITHUB_EVENT_PATH: file } })).toBe(ahead);
    // Of another event the same file says nothing.
    expect(await mergeBase(top, { GITHUB_EVENT_PATH: file, GITHUB_BASE_REF: "release" })).toBe(main);
  });

  it("the base of a pull request is that of the event, whatever the clone's branch of that name is", async () => {
    const base = commit("base");
    git("checkout", "--quiet", "-b", "feature");
    const change = commit("change");
    git("update-ref", "refs/remotes/origin/main", change);
    const env = { GITHUB_BASE_REF: "main", GITHUB_EVENT_PATH: event({ pull_request: { base: { sha: base } } }) };
    expect(await mergeBase(top, env)).toBe(base);
    expect(await baseCommit({ cwd: top, env })).toBe(base);
    expect((await comparableCommits({ cwd: top, env }, [])).commits).toEqual(new Set([base]));
    expect(await mergeBase(top, { ...env, STORMLOG_GATE_BASE: "main" })).toBe(change);
    for (const sha of ["0".repeat(40), "main", 7]) {
      const unknown = { ...env, GITHUB_EVENT_PATH: event({ pull_request: { base: { sha } } }) };
      expect(await mergeBase(top, unknown)).toBe(change);
    }
  });

  it("the base of GitHub's merge of a pull request is its first parent, also when it is newer than the event's base", async () => {
    const base = commit("base");
    git("checkout", "--quiet", "-b", "feature");
    commit("change");
    git("checkout", "--quiet", "main");
    const later = commit("later");
    git("merge", "--quiet", "--no-ff", "-m", "merge", "feature");
    const env = {
      GITHUB_BASE_REF: "main",
      GITHUB_EVENT_PATH: event({ pull_request: { base: { sha: base } } }),
      GITHUB_REF: "refs/pull/7/merge",
      GITHUB_SHA: git("rev-parse", "HEAD"),
    };
    expect(await mergeBase(top, env)).toBe(later);
    expect(await mergeBase(top, { ...env, GITHUB_SHA: later })).toBe(base);
    const clone = path.join(top, "clone");
    execFileSync("git", ["clone", "--quiet", "--depth=1", `file://${top}`, clone]);
    execFileSync("git", ["-C", clone, "update-ref", "-d", "refs/remotes/origin/main"]);
    const history = {
      baseBranch: async () => null,
      mergeBase: async (head: string, other: string) => git("merge-base", head, other),
      behind: async () => new Set<string>(),
    };
    expect(await mergeBase(clone, env)).toBeNull();
    expect(await baseCommit({ cwd: clone, env, history })).toBe(later);
  });

  it("baseline commits are not filtered without a known history", async () => {
    expect(await comparableCommits({ cwd: tmpdir(), env: {} }, [])).toEqual({ commits: null, warnings: [] });
    const directory = `${top}-shallow`;
    commit("first");
    commit("second");
    execFileSync("git", ["clone", "--quiet", "--depth=1", `file://${top}`, directory]);
    try {
      expect(await comparableCommits({ cwd: directory, env: {} }, ["0".repeat(40)])).toEqual({
        commits: null,
        warnings: [expect.stringContaining("fetch-depth: 0")],
      });
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it("unknownCommits returns the commits that the clone does not contain", async () => {
    const known = commit("known");
    const unknown = "0123456789abcdef0123456789abcdef01234567";
    expect(await (await view({ cwd: top, env: {} })).unknownCommits([known, unknown])).toEqual(new Set([unknown]));
    expect(await (await view({ cwd: top, env: {} })).unknownCommits([])).toEqual(new Set());
  });
});
