import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { HOW, workflowTool } from "../workflows/testing/tools.ts";
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
  it("finds the commit that leaks, past one that does not build, and leaves the work tree as it was", {
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
    expect(code).toBe(0);
    const found = JSON.parse(stdout);
    // The commit that does not build cannot be separated from its successor.
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

/** Writes wheels of two versions each: `leaky` 2 keeps 64 MiB, and `core` 2 needs `extra` 2. */
const WHEELS = `
import sys, zipfile
for name in ("core", "extra", "leaky"):
    for version in ("1.0", "2.0"):
        info = f"{name}-{version}.dist-info"
        needs = "Requires-Dist: extra>=2\\n" if (name, version) == ("core", "2.0") else ""
        size = "6553" if (name, version) == ("leaky", "2.0") else "0"
        with zipfile.ZipFile(f"{sys.argv[1]}/{name}-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}.py", f"kept = []\\ndef step(): kept.append(b'x' * ({size} * 1024))\\n")
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n{needs}")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
            wheel.writestr(f"{info}/RECORD", "")
`;
const APP = `import time, leaky, core, extra
for _ in range(10):
    leaky.step()
    time.sleep(0.05)
`;

/** Whether `python3 -m pip` can install into another environment (pip 22.3). */
const hasPip = ((): boolean => {
  const { stdout, status } = spawnSync("python3", ["-m", "pip", "--version"], { encoding: "utf8" });
  const [, major = "0"] = /^pip (\d+)/.exec(stdout ?? "") ?? [];
  const venv = spawnSync("python3", ["-c", "import venv"]).status;
  return status === 0 && venv === 0 && Number(major) >= 23;
})();

describe("culprit", () => {
  it.skipIf(!hasPip)(
    "finds the package that leaks without a network (needs python3 with venv and pip 23)",
    {
      timeout: 240_000,
    },
    async () => {
      const cwd = freshDirectory();
      const wheels = freshDirectory();
      execFileSync("python3", ["-c", WHEELS, wheels]);
      const lock = (version: string): string =>
        [
          "--no-index",
          `--find-links ${wheels}`,
          ...["core", "extra", "leaky"].map((name) => `${name}==${version}`),
        ].join("\n");
      writeFileSync(path.join(cwd, "good.txt"), lock("1.0"));
      writeFileSync(path.join(cwd, "bad.txt"), lock("2.0"));
      writeFileSync(path.join(cwd, "app.py"), APP);
      const { code, stdout, stderr } = await cli(
        ["culprit", "--good", "good.txt", "--bad", "bad.txt", "--json", ...QUICK, "--", "python", "app.py"],
        { cwd, env: { GITHUB_ACTIONS: "" } },
      );
      expect(stderr).not.toMatch(/^error /m);
      expect(code).toBe(0);
      const found = JSON.parse(stdout);
      expect(found.changes).toEqual([{ name: "leaky", good: "1.0", bad: "2.0" }]);
      // The first question separates `core` from `extra`, which pip refuses: both move as one from then on.
      expect(found.steps.map(({ verdict }: { verdict: unknown }) => verdict)).toEqual([
        "unjudged",
        "fail",
        null,
        "pass",
      ]);
      expect(found.steps[2].together).toEqual([0, 1]);
    },
  );

  const uv = workflowTool("uv");
  it.skipIf(uv === null || !hasPip)(
    `combines lock files of uv without their project (needs uv: ${HOW})`,
    {
      timeout: 240_000,
    },
    async () => {
      const cwd = freshDirectory();
      const wheels = freshDirectory();
      execFileSync("python3", ["-c", WHEELS, wheels]);
      const PATH = `${path.dirname(uv ?? "")}:${process.env.PATH}`;
      const env = { PATH, UV_NO_INDEX: "1", UV_FIND_LINKS: wheels, UV_OFFLINE: "1" };
      for (const [name, version] of [["good", "1.0"] as const, ["bad", "2.0"] as const]) {
        const project = freshDirectory();
        const needs = ["core", "extra", "leaky"].map((needed) => `"${needed}==${version}"`).join(", ");
        writeFileSync(
          path.join(project, "pyproject.toml"),
          `[project]\nname = "app"\nversion = "0.1"\nrequires-python = ">=3.9"\ndependencies = [${needs}]\n`,
        );
        execFileSync(uv ?? "", ["lock", "--quiet"], { cwd: project, env: { ...process.env, ...env } });
        copyFileSync(path.join(project, "uv.lock"), path.join(cwd, `${name}.lock`));
      }
      writeFileSync(path.join(cwd, "app.py"), APP);
      const { code, stdout, stderr } = await cli(
        ["culprit", "--good", "good.lock", "--bad", "bad.lock", "--json", ...QUICK, "--", "python", "app.py"],
        { cwd, env: { ...env, GITHUB_ACTIONS: "" } },
      );
      expect(stderr).not.toMatch(/^error /m);
      expect(code).toBe(0);
      expect(JSON.parse(stdout).changes).toEqual([{ name: "leaky", good: "1.0", bad: "2.0" }]);
    },
  );
});
