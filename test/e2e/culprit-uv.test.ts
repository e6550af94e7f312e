import { execFileSync } from "node:child_process";
import { copyFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { HOW, workflowTool } from "../workflows/testing/tools.ts";
import { cli, freshDirectory } from "./cli.ts";
import { APP, hasPip, QUICK, WHEELS } from "./fixtures/wheels.ts";

describe("culprit", () => {
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
