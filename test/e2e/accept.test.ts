import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { cli, freshDirectory } from "./cli.ts";

describe("baseline accept", () => {
  it("judges an accepted level of one run, and measures the runs that it lacks on request", async () => {
    const cwd = freshDirectory();
    const keep = (mib: number): void =>
      writeFileSync(
        path.join(cwd, "work.cjs"),
        `globalThis.kept = Buffer.alloc(${mib} * 2 ** 20, 1); setTimeout(() => {}, 200);`,
      );
    const command = ["--", process.execPath, "work.cjs"];
    keep(10);
    expect((await cli(["baseline", "refresh", "--scenario", "work", ...command], { cwd })).code).toBe(0);
    keep(100);
    const changed = ["run", "--scenario", "work", "--baseline", "none", "--unjudged", "pass", ...command];
    expect((await cli(changed, { cwd })).code).toBe(0);
    const accepted = await cli(["baseline", "accept", "--reason", "a cache"], { cwd });
    expect(accepted.stdout).toContain("judged with the spread of the 5 runs before it");
    expect(accepted.stdout).toContain("baseline refresh --scenario work --runs 4 -- CMD");

    const judged = await cli(["run", "--json", "--max-runs", "1", "--scenario", "work", ...command], { cwd });
    const { payload, warnings } = JSON.parse(judged.stdout);
    expect(payload.scenarios[0]).toMatchObject({ baseline: { runs: 1, earlier_runs: 5 } });
    // Its size is the business of other tests: this one may run on a busy machine.
    expect(payload.verdict).not.toBe("unjudged");
    expect(JSON.stringify([payload, warnings])).toContain("with the spread of the 5 runs before it");

    const measured = await cli(["baseline", "accept", "--json", "--runs", "3", ...command], { cwd });
    expect(measured.code).toBe(0);
    const [record] = JSON.parse(measured.stdout);
    expect(record.record.epochs.map(({ runs }: { runs: unknown[] }) => runs.length)).toEqual([5, 1, 3]);
    const other = await cli(["baseline", "accept", "--runs", "3", "--scenario", "other", ...command], { cwd });
    expect(other.code).toBe(2);
    expect(other.stderr).toContain('nothing measures the accepted scenario "work"');
  }, 120_000);
});
