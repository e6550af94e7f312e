import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { cli, freshDirectory } from "./cli.ts";

const WORKLOAD = (mebibytes: number) =>
  `const keep = Buffer.alloc(${mebibytes} * 2 ** 20, 1); setTimeout(() => keep.length, 800);\n`;

describe("a bundle with runs of the base commit", () => {
  it("a bundle with runs of the base commit is read as what the candidate did", { timeout: 240_000 }, async () => {
    const cwd = freshDirectory();
    const git = (...args: string[]) =>
      execFileSync("git", ["-C", cwd, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args]);
    git("init", "--quiet", "--initial-branch=main");
    writeFileSync(path.join(cwd, "work.mjs"), WORKLOAD(1));
    git("add", ".");
    git("commit", "--quiet", "-m", "base");
    const command = ["--", process.execPath, "work.mjs"];
    expect((await cli(["baseline", "refresh", ...command], { cwd })).code).toBe(0);
    git("checkout", "--quiet", "-b", "feature");
    writeFileSync(path.join(cwd, "work.mjs"), WORKLOAD(64));
    git("commit", "--quiet", "-am", "sixty-three mebibytes more");

    const { code, stdout } = await cli(["run", ...command], { cwd });
    expect(code).toBe(4);
    expect(stdout).toContain("confirmed");
    expect(existsSync(path.join(cwd, "stormlog-bundle", "runs", "default", "base-1"))).toBe(true);

    const runs = readdirSync(path.join(cwd, "stormlog-bundle", "runs", "default")).filter((name) => /^\d+$/.test(name));
    const last = `default/${runs.length}`;
    const analysis = JSON.parse((await cli(["analyze", "stormlog-bundle", "--json"], { cwd })).stdout);
    expect(analysis.series[0].peak_bytes).toBeGreaterThan(60 * 2 ** 20);
    const csv = await cli(["export", "--format", "csv"], { cwd });
    expect(csv.stdout).toContain(`"${last}"`);
    expect(csv.stdout).not.toContain("base-");
    expect(csv.stderr).toContain(`the bundle holds ${runs.length} runs; this is ${last}`);
    const parquet = await cli(["export", "--format", "parquet", "--output", "out.parquet"], { cwd });
    expect(parquet.stderr).toContain(`this is runs/${last}`);
    const exported = JSON.parse((await cli(["analyze", "out.parquet", "--json"], { cwd })).stdout);
    expect(exported.series[0].peak_bytes).toBe(analysis.series[0].peak_bytes);
  });
});

describe("a repository without a baseline", () => {
  it("run passes what the base commit does too, and fails a rise above it", { timeout: 240_000 }, async () => {
    const cwd = freshDirectory();
    const git = (...args: string[]) =>
      execFileSync("git", ["-C", cwd, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args]);
    git("init", "--quiet", "--initial-branch=main");
    writeFileSync(path.join(cwd, "work.mjs"), WORKLOAD(64));
    git("add", ".");
    git("commit", "--quiet", "-m", "base");
    const run = () => cli(["run", "--attribute", "off", "--", process.execPath, "work.mjs"], { cwd });
    // On the base commit itself there is nothing to compare with.
    expect(await run()).toMatchObject({ code: 6, stdout: expect.stringContaining("No baseline yet") });
    git("checkout", "--quiet", "-b", "feature");
    git("commit", "--quiet", "--allow-empty", "-m", "nothing");
    const same = await run();
    expect(same.code, same.stdout).toBe(0);
    const report = readFileSync(path.join(cwd, "stormlog-bundle", "report.json"), "utf8");
    expect(report).toContain("compared with the base commit in this session: 5 more runs complete the baseline");
    // Above a quarter of the peak, three runs of each decide.
    writeFileSync(path.join(cwd, "work.mjs"), WORKLOAD(320));
    const higher = await run();
    expect(higher.code, higher.stdout).toBe(4);
    const runs = readdirSync(path.join(cwd, "stormlog-bundle", "runs", "default")).sort();
    expect(runs).toEqual(["1", "2", "3", "base-1", "base-2", "base-3"]);
  });
});
