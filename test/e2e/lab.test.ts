import { readdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parseLabDocument } from "../../src/lab/report/document.ts";
import { cli, freshDirectory } from "./cli.ts";

describe("lab", () => {
  it("a pattern of the lab fails with its line, its fixed state passes, and both stand in the report's page", {
    timeout: 240_000,
  }, async () => {
    const cwd = freshDirectory();
    // 50 MiB in the leaky state, five times what a busy machine hides.
    const run = await cli(["lab", "run", "node_cache", "--steps", "400", "--json"], { cwd });
    expect(run.code, run.stderr).toBe(0);
    const [pattern] = parseLabDocument(JSON.parse(run.stdout), cwd).patterns;
    expect(pattern).toMatchObject({
      outcome: "caught",
      leaky: { verdict: "fail", class: "leak" },
      fixed: { verdict: "pass" },
    });
    expect(run.stderr).toContain("node_cache.mjs:14");

    const report = await cli(["lab", "report", "stormlog-lab", "--output", "page"], { cwd });
    expect(report.code, report.stderr).toBe(0);
    expect(readdirSync(path.join(cwd, "page"))).toEqual(["leak-lab.md"]);
  });
});
