import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Environment } from "../../core/process/environment.ts";
import { type HistoryPort, viewRepository } from "../../git/repository-view.ts";
import * as baseConfig from "./base-config.ts";

/** Real repositories: `main` moves on after the branch `topic` left it, and each has its own configuration. */

const root = mkdtempSync(path.join(tmpdir(), "stormlog-base-config-"));
const full = path.join(root, "full");
const shallow = path.join(root, "shallow");
const CI = { CI: "true" };
const file = (directory: string): string => path.join(directory, "jobs/stormlog-gate.yml");
let left = "";

interface Ports {
  readonly history?: HistoryPort;
  readonly fileAt?: baseConfig.FileAt;
}
async function readBaseConfig(name: string, env: Environment, { history, fileAt }: Ports) {
  const view = await viewRepository(path.dirname(name), env, history);
  return baseConfig.readBaseConfig(path.basename(name), view, fileAt);
}

const git = (directory: string, ...args: readonly string[]): string =>
  execFileSync("git", ["-C", directory, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();

function commit(text: string): string {
  mkdirSync(path.join(full, "jobs"), { recursive: true });
  writeFileSync(file(full), text);
  git(full, "add", ".");
  git(full, "commit", "--quiet", "-m", text);
  return git(full, "rev-parse", "HEAD");
}

/** The history of the whole repository. */
const history = (over: Partial<HistoryPort> = {}): HistoryPort => ({
  baseBranch: async () => null,
  mergeBase: async (head, branch) => git(full, "merge-base", head, branch),
  behind: async () => new Set(),
  ...over,
});
const fileAt = async (at: string, inside: string): Promise<string | null> => {
  try {
    return git(full, "cat-file", "blob", `${at}:${inside}`);
  } catch {
    return null;
  }
};

beforeAll(() => {
  mkdirSync(full);
  git(full, "init", "--quiet", "--initial-branch=main");
  left = commit("as it was left");
  git(full, "checkout", "--quiet", "-b", "topic");
  commit("the change's own");
  git(full, "checkout", "--quiet", "main");
  commit("main of today");
  git(full, "update-ref", "refs/remotes/origin/main", "main");
  git(full, "checkout", "--quiet", "topic");
  git(root, "clone", "--quiet", "--depth=1", "--branch=topic", `file://${full}`, shallow);
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("the configuration of the base commit", () => {
  it("the base configuration is that of the commit where the change left its branch", async () => {
    for (const env of [
      { ...CI, GITHUB_BASE_REF: "main" },
      { ...CI, STORMLOG_GATE_BASE: "main" },
      { GITHUB_ACTIONS: "true", GITHUB_BASE_REF: "main" },
      {
        ...CI,
        GITHUB_EVENT_NAME: "merge_group",
        GITHUB_REF: `refs/heads/gh-readonly-queue/main/pr-7-${"a".repeat(40)}`,
      },
    ]) {
      expect(await readBaseConfig(file(full), env, {})).toEqual({
        kind: "found",
        text: "as it was left",
        commit: left,
      });
    }
  });

  it("the base configuration is that of the pull request whose copy was pushed", async () => {
    const ports = { history: history({ baseBranch: async () => "main" }) };
    expect(await readBaseConfig(file(full), CI, ports)).toMatchObject({ kind: "found", commit: left });
  });

  it("the base configuration comes from the history port where the clone lacks it", async () => {
    const env = { ...CI, GITHUB_BASE_REF: "main" };
    const found = await readBaseConfig(file(shallow), env, { history: history(), fileAt });
    expect(found).toEqual({ kind: "found", text: "as it was left", commit: left });
    expect(await readBaseConfig(file(shallow), env, { history: history() })).toMatchObject({ kind: "unknown" });
    expect(await readBaseConfig(file(shallow), env, {})).toMatchObject({ kind: "unknown" });
  });

  it("the base configuration is unknown, with the reason, when GitHub cannot be asked", async () => {
    const refuse = () => Promise.reject(new Error("GitHub refused."));
    const ports = { history: history({ mergeBase: refuse }), fileAt };
    expect(await readBaseConfig(file(shallow), { ...CI, GITHUB_BASE_REF: "main" }, ports)).toEqual({
      kind: "unknown",
      why: "GitHub refused",
    });
  });

  it("the base configuration is that of the base branch for a change without common history", async () => {
    git(full, "checkout", "--quiet", "--orphan", "unrelated");
    commit("of nowhere");
    const found = await readBaseConfig(file(full), { ...CI, GITHUB_BASE_REF: "main" }, {});
    git(full, "checkout", "--quiet", "--force", "topic");
    expect(found).toMatchObject({ kind: "found", text: "main of today" });
  });

  it("the configuration is new where the base commit has no such file", async () => {
    const other = path.join(full, "other.yml");
    writeFileSync(other, "x");
    expect(await readBaseConfig(other, { ...CI, GITHUB_BASE_REF: "main" }, {})).toEqual({ kind: "new", commit: left });
    const ports = { history: history(), fileAt };
    const elsewhere = path.join(shallow, "other.yml");
    expect(await readBaseConfig(elsewhere, { ...CI, GITHUB_BASE_REF: "main" }, ports)).toMatchObject({ kind: "new" });
  });

  it("the base configuration is found by the runner's variables where git is not available", async () => {
    const plain = path.join(root, "plain");
    mkdirSync(path.join(plain, "jobs"), { recursive: true });
    const env = {
      ...CI,
      GITHUB_BASE_REF: "main",
      GITHUB_WORKSPACE: plain,
      GITHUB_SHA: git(full, "rev-parse", "topic"),
    };
    const ports = { history: history(), fileAt };
    expect(await readBaseConfig(file(plain), env, ports)).toMatchObject({ kind: "found", text: "as it was left" });
    expect(await readBaseConfig(file(plain), { ...env, GITHUB_WORKSPACE: full }, ports)).toMatchObject({
      kind: "unknown",
    });
  });

  it("the base configuration is not read outside a pipeline, or without a pull request", async () => {
    for (const env of [
      { GITHUB_BASE_REF: "main" },
      { CI: "false", GITHUB_BASE_REF: "main" },
      { CI: "", STORMLOG_GATE_BASE: "main" },
      CI,
      { ...CI, GITHUB_EVENT_NAME: "push", GITHUB_REF: `refs/heads/gh-readonly-queue/main/pr-7-${"a".repeat(40)}` },
    ]) {
      expect(await readBaseConfig(file(full), env, { history: history() })).toEqual({ kind: "not-asked" });
    }
  });
});
