import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { commitRange, commitSubject } from "./commits.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-commits-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe("the checkout of a commit", () => {
  it("the checkout of a commit is built and measured with a home of its own, without logins", async () => {
    const [clone, scratch] = [path.join(directory, "clone"), path.join(directory, "scratch")];
    for (const one of [clone, scratch, path.join(directory, "home")]) mkdirSync(one);
    writeFileSync(path.join(directory, "home", ".npmrc"), "_authToken=a");
    const git = (...args: string[]): void => {
      execFileSync("git", ["-C", clone, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args]);
    };
    git("init", "--quiet");
    for (const message of ["one", "two"]) git("commit", "--quiet", "--allow-empty", "-m", message);
    const env = { PATH: process.env.PATH ?? "", HOME: path.join(directory, "home") };
    const range = await commitRange(clone, "HEAD~1", "HEAD");
    const subject = commitSubject(range, 'ls -A "$HOME" > seen', env, new AbortController().signal);
    const [tree, home] = [path.join(scratch, "tree"), path.join(scratch, "home")];
    expect(await subject.prepare([0], scratch)).toEqual({ cwd: tree, env: { ...env, HOME: home } });
    expect(readFileSync(path.join(tree, "seen"), "utf8")).toBe("");
  });
});
