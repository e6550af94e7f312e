import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { cli, freshDirectory } from "./cli.ts";

describe("baseline accept", () => {
  it("judges an accepted level of one run, and names the command that adds the others", async () => {
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

    const measuring = await cli(["baseline", "accept", "--runs", "3", ...command], { cwd });
    expect([measuring.code, measuring.stderr]).toEqual([
      2,
      expect.stringContaining("baseline refresh --runs N -- CMD"),
    ]);
  }, 120_000);

  it("accepts one of several scenarios of a bundle, and leaves the other alone", async () => {
    const cwd = freshDirectory();
    const scenario = (name: string) => ({ name, run: [process.execPath, "-e", "setTimeout(() => {}, 100)"] });
    const config = { schema: "stormlog.config/1", scenarios: ["one", "two"].map(scenario) };
    writeFileSync(path.join(cwd, "stormlog-gate.yml"), JSON.stringify(config));
    const measured = await cli(["run"], { cwd });
    expect(measured.code, measured.stderr).toBe(6);
    // Each scenario has its own command.
    expect(measured.stdout).toMatch(/baseline refresh --scenario one$/m);
    expect(measured.stdout).toMatch(/baseline refresh --scenario two$/m);
    const unknown = await cli(["baseline", "accept", "--scenario", "three"], { cwd });
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('They have: "one", "two".')]);
    const accepted = await cli(["baseline", "accept", "stormlog-bundle", "--scenario", "two"], { cwd });
    expect(accepted.code, accepted.stderr).toBe(0);
    const { stdout } = await cli(["baseline", "list", "--json"], { cwd });
    const records: readonly { record: { scenario: string } }[] = JSON.parse(stdout);
    expect(records.map(({ record }) => record.scenario)).toEqual(["two"]);
  }, 120_000);

  it("repeats the run with a higher limit by the printed command when runs are missing", async () => {
    const cwd = freshDirectory();
    const command = ["--", process.execPath, "-e", "setTimeout(() => {}, 100)"];
    const given = ["run", "--bundle", "out", "--baseline", "none", "--budget", "host=2GiB", "--repeats", "3"];
    const short = await cli([...given, "--max-runs", "2", ...command], { cwd });
    expect(short.code).toBe(6);
    const [, printed = ""] = /Next: +\S.*? (run --.*)$/m.exec(short.stdout) ?? [];
    expect(printed).toMatch(/^run --bundle out .*--repeats 3 --max-runs 3 .*-- \S+ -e /);
    const again = await cli([...given, "--max-runs", "3", ...command], { cwd });
    expect(again.code, again.stdout).toBe(0);
  }, 120_000);
});
