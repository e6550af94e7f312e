import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Environment } from "../core/process/environment.ts";
import { viewRepository } from "./repository-view.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const git = (...args: string[]): string => execFileSync("git", args, { cwd: directory }).toString().trim();

const currentCommit = async (cwd: string, env: Environment) => (await viewRepository(cwd, env)).commit;

describe("currentCommit", () => {
  it("currentCommit is what git has checked out, even when the event names another commit", async () => {
    git("init", "-q");
    git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "x");
    expect(await currentCommit(directory, { ...process.env, GITHUB_SHA: SHA })).toBe(git("rev-parse", "HEAD"));
  });

  it("currentCommit is the event's commit outside a repository, and null without one", async () => {
    const env = { ...process.env, GIT_CEILING_DIRECTORIES: path.dirname(directory) };
    expect(await currentCommit(directory, { ...env, GITHUB_SHA: SHA })).toBe(SHA);
    expect(await currentCommit(directory, { ...env, GITHUB_SHA: undefined })).toBeNull();
    expect(await currentCommit(directory, { ...env, GITHUB_SHA: "main" })).toBeNull();
  });

  it("currentCommit is null in a repository without a commit", async () => {
    git("init", "-q");
    expect(await currentCommit(directory, { ...process.env, GITHUB_SHA: undefined })).toBeNull();
  });
});
