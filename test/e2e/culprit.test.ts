import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { cli, freshDirectory } from "./cli.ts";
import { APP, hasPip, QUICK, WHEELS } from "./fixtures/wheels.ts";

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
});
