import { execFileSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { cli, freshDirectory } from "./cli.ts";

/** Keeps so many MiB in ten steps of half a second, or nothing. */
const leaking = (mebibytes: number): string =>
  `const keep = []; let n = 0;
const timer = setInterval(() => {
  if (${mebibytes} > 0) keep.push(Buffer.alloc(${mebibytes} * 2 ** 20 / 10, 1));
  if (++n >= 10) clearInterval(timer);
}, 50);
`;

const QUICK = ["--attribute", "off", "--max-runs", "4"];

describe("bisect", () => {
  it("names the commit that leaks together with one before it that does not build, and leaves the work tree as it was", {
    timeout: 240_000,
  }, async () => {
    const cwd = freshDirectory();
    const git = (...args: string[]) =>
      execFileSync("git", ["-C", cwd, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
        encoding: "utf8",
      });
    git("init", "--quiet", "--initial-branch=main");
    for (let number = 0; number <= 3; number += 1) {
      writeFileSync(path.join(cwd, "work.mjs"), `${leaking(number >= 3 ? 64 : 0)}// ${number}\n`);
      writeFileSync(path.join(cwd, "build.sh"), number === 2 ? "echo no compiler; exit 3\n" : "exit 0\n");
      git("add", ".");
      git("commit", "--quiet", "-m", `change ${number}`);
    }
    writeFileSync(path.join(cwd, "work.mjs"), "not committed\n");
    const before = git("status", "--porcelain");
    const { code, stdout, stderr } = await cli(
      [
        "bisect",
        ...["--good", "main~3", "--bad", "main", "--setup", "sh build.sh", "--json"],
        ...QUICK,
        ...["--", process.execPath, "work.mjs"],
      ],
      { cwd, env: { GITHUB_ACTIONS: "" } },
    );
    expect(stderr).not.toMatch(/^error /m);
    expect(code).toBe(6);
    const found = JSON.parse(stdout);
    // The commit that does not build cannot be separated from its successor, as `git bisect` exits with 2.
    expect(found.result).toBe("together");
    expect(found.changes.map(({ subject }: { subject: string }) => subject)).toEqual(["change 2", "change 3"]);
    expect(found.sentence).toMatch(/host|leak/i);
    expect(readdirSync(found.bundle)).toContain("report.json");
    expect(found.steps.find(({ verdict }: { verdict: unknown }) => verdict === null).sentence).toContain("no compiler");
    expect(found.steps.every(({ minutes }: { minutes: number }) => minutes > 0)).toBe(true);
    expect(git("status", "--porcelain")).toBe(`${before}?? stormlog-bisect/\n`);
  });

  it.each([
    [["--good=-x", "--bad", "main"], "REVISION_UNKNOWN"],
    [["--good", "main", "--bad", "main"], "REVISION_NOT_ANCESTOR"],
    [["--good", "main"], "OPTION_MISSING"],
  ])("refuses %j before anything is written", async (args, expected) => {
    const cwd = freshDirectory();
    execFileSync("git", ["-C", cwd, "init", "--quiet", "--initial-branch=main"]);
    const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    execFileSync("git", ["-C", cwd, ...identity, "commit", "--quiet", "--allow-empty", "-m", "x"]);
    const { code, stderr } = await cli(["bisect", ...args, "--", "true"], { cwd, env: { GITHUB_ACTIONS: "" } });
    expect(stderr).toContain(`error ${expected}`);
    expect(code).toBe(2);
    expect(readdirSync(cwd)).toEqual([".git"]);
  });

  it("bisect refuses to start in a GitHub workflow", async () => {
    const { code, stderr } = await cli(["bisect", "--good", "a", "--bad", "b", "--", "true"], {
      cwd: freshDirectory(),
      env: { GITHUB_ACTIONS: "true" },
    });
    expect(stderr).toContain("error SEARCH_IN_ACTION");
    expect(code).toBe(2);
  });
});
