import { execFileSync, spawnSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../src/core/package-root.ts";
import { temporary } from "./testing/temporary.ts";

const SCRIPT = path.join(packageRoot(), "scripts", "check-commits.mjs");

/** Output and exit status with these subjects on main and on a branch from it. */
function checked(onMain: readonly string[], onBranch: readonly string[]) {
  const cwd = temporary("commits");
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd, stdio: "ignore" });
  const commit = (subject: string) => git("commit", "--allow-empty", "-m", subject);
  git("init", "-b", "main");
  for (const subject of onMain) commit(subject);
  git("checkout", "-b", "change");
  for (const subject of onBranch) commit(subject);
  const { status, stdout } = spawnSync(process.execPath, [SCRIPT, "main"], { cwd, encoding: "utf8" });
  return { status, lines: stdout.trim().split("\n") };
}

describe("check-commits", () => {
  it("passes imperative subjects with a scope and only warns of faults on the main branch", () => {
    const { status, lines } = checked(
      ["core: read files", "docs: the new page; a test of it"],
      ["merge: read features instead of samples", "analysis, tests: accept an empty series"],
    );
    expect(lines).toEqual([
      "warning: 1 of the newest 30 subjects on main have faults",
      "check-commits: 2 commits not on main, 0 faults",
    ]);
    expect(status).toBe(0);
  });

  it("fails on subjects without a scope or a verb, with two topics, with a full stop or too long", () => {
    const faults = [
      ["formats: a bad rank in Parquet", "begin with a verb"],
      ["formats: How to read a rank", "begin with a verb"],
      ["baselines: read version 6; write version 7", "one topic each"],
      ["read version 6", "no scope in front, as in `merge: read features instead of samples`"],
      ["core: read files.", "ends with a full stop"],
      [`core: read ${"x".repeat(62)}`, "73 characters, at most 72"],
    ] as const;
    const subjects = faults.map(([subject]) => subject);
    const { status, lines } = checked(["core: read files"], subjects.toReversed());
    expect(lines.map((line) => line.replace(/^[0-9a-f]{7,} /, ""))).toEqual([
      ...faults.map(([subject, fault]) => `${subject}: ${fault}`),
      "check-commits: 6 commits not on main, 6 faults",
    ]);
    expect(status).toBe(1);
  });
});
