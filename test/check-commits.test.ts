import { execFileSync, spawnSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../src/core/package-root.ts";
import { temporary } from "./testing/temporary.ts";

const SCRIPT = path.join(packageRoot(), "scripts", "check-commits.mjs");

/** Output and exit status with these subjects on main, checked from its first commit or another revision. */
function checked(subjects: readonly string[], since = `HEAD~${subjects.length}`) {
  const cwd = temporary("commits");
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd, stdio: "ignore" });
  git("init", "-b", "main");
  for (const subject of ["Old subject; not checked.", ...subjects]) git("commit", "--allow-empty", "-m", subject);
  const { status, stdout } = spawnSync(process.execPath, [SCRIPT, since], { cwd, encoding: "utf8" });
  return { status, lines: stdout.trim().split("\n") };
}

describe("check-commits", () => {
  it("passes imperative subjects with a scope on the main branch, whatever was before them", () => {
    const { status, lines } = checked([
      "merge: read features instead of samples",
      "analysis, tests: accept an empty series",
    ]);
    expect(lines).toEqual(["check-commits: 2 commits since HEAD~2, 0 faults"]);
    expect(status).toBe(0);
  });

  it("checks nothing where the history does not reach back", () => {
    const { status, lines } = checked(["core: read files."], "0123456789abcdef");
    expect(lines).toEqual(["check-commits: 0123456789 is not in this history, nothing checked"]);
    expect(status).toBe(0);
  });

  it("fails on the main branch for subjects without a scope or a verb, with two topics, with a full stop or too long", () => {
    const faults = [
      ["formats: a bad rank in Parquet", "begin with a verb"],
      ["formats: How to read a rank", "begin with a verb"],
      ["baselines: read version 6; write version 7", "one topic each"],
      ["read version 6", "no scope in front, as in `merge: read features instead of samples`"],
      ["core: read files.", "ends with a full stop"],
      [`core: read ${"x".repeat(62)}`, "73 characters, at most 72"],
    ] as const;
    const subjects = faults.map(([subject]) => subject);
    const { status, lines } = checked(subjects.toReversed());
    expect(lines.map((line) => line.replace(/^[0-9a-f]{7,} /, ""))).toEqual([
      ...faults.map(([subject, fault]) => `${subject}: ${fault}`),
      "check-commits: 6 commits since HEAD~6, 6 faults",
    ]);
    expect(status).toBe(1);
  });
});
