import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ANALYSIS_VERSION } from "../../src/analysis/series/document.ts";
import { type CliResult, cli, freshDirectory } from "./cli.ts";

const WORK = (mebibytes: number) => [
  process.execPath,
  "-e",
  `const keep = Buffer.alloc(${mebibytes} * 2 ** 20, 1); setTimeout(() => keep.length, 800);`,
];

const cwd = freshDirectory();

interface Shown {
  readonly verdict: string;
  readonly exit_code: number;
  readonly session: string;
  readonly cost: { readonly runs: number };
  readonly warnings: readonly string[];
  readonly scenarios: readonly {
    readonly scenario: string;
    readonly verdict: string;
    readonly judgement: { readonly reason: string; readonly checks: readonly { readonly rank: number }[] } | null;
    readonly error: { readonly code: string; readonly message: string } | null;
    readonly runs: readonly { readonly directory: string }[];
  }[];
}

const payload = ({ stdout }: CliResult): Shown => JSON.parse(stdout).payload;

/** Measure one leg for real; its bundle is written to `name`. */
async function measure(name: string, mebibytes: number, options: string[], env: Record<string, string> = {}) {
  const args = ["run", "--repeats", "1", "--baseline", "none", "--attribute", "off", "--bundle", name, ...options];
  return cli([...args, "--", ...WORK(mebibytes)], { cwd, env });
}

const merge = (...args: string[]) => cli(["merge", "--json", ...args], { cwd });

/** The verdict without what differs between merges. */
function answer(result: CliResult) {
  const { session: _session, ...rest } = payload(result);
  return { code: result.code, rest };
}

function sha256(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

beforeAll(async () => {
  await measure("legs/linux", 8, ["--budget", "host=1GiB"]);
  await measure("legs/mac", 96, ["--budget", "host=64MiB"]);
  await measure("legs/windows", 8, ["--budget", "host=1GiB"]);
  for (const rank of ["0", "1"]) {
    const env = { RANK: rank, LOCAL_RANK: "0", WORLD_SIZE: "2", STORMLOG_GATE_SESSION: "job-7" };
    await measure(`nodes/n${rank}`, rank === "0" ? 8 : 24, ["--unjudged", "pass"], env);
  }
}, 120_000);

describe("merging the legs of a matrix", () => {
  it("fails by its worst leg, keeps legs apart and has the evidence of each", async () => {
    const result = await merge("legs/linux", "legs/mac", "--bundle", "two", "--expect", "2");
    expect(result.code, result.stderr).toBe(4);
    const { verdict, scenarios, cost } = payload(result);
    expect(verdict).toBe("fail");
    expect(cost.runs).toBe(2);
    expect(scenarios.map((one) => [one.scenario, one.verdict])).toEqual([
      ["linux/default", "pass"],
      ["mac/default", "fail"],
    ]);
    const manifest = JSON.parse(readFileSync(path.join(cwd, "two/manifest.json"), "utf8"));
    expect(manifest).toMatchObject({ complete: true, exit_code: 4, risk_detected: true });
    const listed = new Map(manifest.files.map((file: { path: string; sha256: string }) => [file.path, file.sha256]));
    expect([...listed.keys()]).toEqual(expect.arrayContaining(["report.json", "timeline.png", "timeline.html"]));
    for (const [name, digest] of listed) expect(sha256(path.join(cwd, "two", String(name)))).toBe(digest);
    for (const { scenario, runs } of scenarios) {
      for (const { directory } of runs) {
        const from = path.join(cwd, "legs", scenario.split("/")[0] ?? "", "runs/default/1");
        for (const name of readdirSync(from)) {
          expect(sha256(path.join(cwd, "two", directory, name)), name).toBe(sha256(path.join(from, name)));
        }
      }
    }
  });

  it("leaves a bundle that the other commands read", async () => {
    const analysis = await cli(["analyze", "--json", "two"], { cwd });
    expect(analysis.code, analysis.stderr).toBe(0);
    expect(JSON.parse(analysis.stdout).series.length).toBeGreaterThan(0);
    expect(payload(await cli(["show", "--json", "two"], { cwd })).scenarios).toHaveLength(2);
    for (const format of ["junit", "sarif", "csv", "html", "png"]) {
      const { code, stdout } = await cli(["export", "two", "--format", format], { cwd });
      expect([format, code]).toEqual([format, 0]);
      expect(stdout.length).toBeGreaterThan(100);
    }
    const judged = await cli(["judge", "--json", "--candidate", "two", "--baseline", "none"], { cwd });
    expect(judged.code, judged.stderr).toBe(0);
  });

  it("answers the same in whatever order the legs are named", async () => {
    const orders = [
      ["legs/linux", "legs/mac", "legs/windows"],
      ["legs/windows", "legs/mac", "legs/linux"],
      ["legs/mac", "legs/windows/", "./legs/linux", "legs/mac"],
    ];
    const [first, second, third] = await Promise.all(orders.map((order, at) => merge(...order, "--bundle", `o${at}`)));
    if (first === undefined || second === undefined || third === undefined) throw new Error("three answers");
    expect(answer(second)).toEqual(answer(first));
    expect(answer(third).rest.scenarios).toEqual(answer(first).rest.scenarios);
    expect(payload(third).warnings.join("\n")).toMatch(/given more than once and counts once/);
  }, 120_000);

  it("never passes when a leg that was expected is missing", async () => {
    const counted = await merge("legs/linux", "legs/windows", "--expect", "3", "--unjudged", "pass", "--bundle", "m1");
    expect([counted.code, payload(counted).verdict]).toEqual([6, "unjudged"]);
    expect(payload(counted).scenarios.at(-1)?.error).toMatchObject({ code: "LEG_MISSING" });
    const named = await merge("legs/linux", "--expect", "linux, mac", "--bundle", "m2");
    expect(named.code).toBe(6);
    expect(named.stderr).toContain("Check the job that should have measured it");
    expect(payload(named).scenarios.at(-1)?.error?.message).toContain("mac");
    expect((await merge("legs/linux", "legs/windows", "--expect", "2", "--bundle", "m3")).code).toBe(0);
  });

  it("does not take a copy of one leg for another", async () => {
    cpSync(path.join(cwd, "legs/linux"), path.join(cwd, "copied"), { recursive: true });
    const result = await merge("legs/linux", "copied", "--expect", "2", "--bundle", "m4");
    expect(result.code).toBe(6);
    expect(payload(result).warnings.join("\n")).toMatch(/is a copy of/);
    expect(payload(result).scenarios.map(({ scenario }) => scenario)).toEqual(["default", "missing leg"]);
  });
});

describe("a bundle that cannot be used", () => {
  const broken = (name: string, breakIt: (directory: string) => void): string => {
    const directory = path.join(cwd, "broken", name);
    rmSync(directory, { recursive: true, force: true });
    cpSync(path.join(cwd, "legs/windows"), directory, { recursive: true });
    breakIt(directory);
    return `broken/${name}`;
  };
  const edit = (file: string, change: (json: Record<string, unknown>) => void): void => {
    const json = JSON.parse(readFileSync(file, "utf8"));
    change(json);
    writeFileSync(file, JSON.stringify(json));
  };
  const CASES: readonly (readonly [string, string, (directory: string) => void])[] = [
    [
      "unfinished",
      "BUNDLE_INCOMPLETE",
      (directory) => edit(path.join(directory, "manifest.json"), (json) => Object.assign(json, { exit_code: null })),
    ],
    [
      "of a newer release",
      "INPUT_SCHEMA_VERSION",
      (directory) => edit(path.join(directory, "report.json"), (json) => Object.assign(json, { schema_version: 2 })),
    ],
    [
      "none of ours",
      "REPORT_INVALID",
      (directory) => edit(path.join(directory, "report.json"), (json) => Object.assign(json, { report_kind: "other" })),
    ],
    [
      "changed after it was written",
      "BUNDLE_CORRUPT",
      (directory) =>
        edit(path.join(directory, "report.json"), (json) => Object.assign(json, { recommendations: ["x"] })),
    ],
    [
      "without some of its samples",
      "BUNDLE_CORRUPT",
      (directory) => truncateSync(path.join(directory, "runs/default/1/samples.parquet"), 100),
    ],
    ["cut in the middle", "INPUT_TRUNCATED", (directory) => truncateSync(path.join(directory, "report.json"), 200)],
    ["empty", "INPUT_NOT_FOUND", (directory) => rmSync(path.join(directory, "manifest.json"))],
    [
      "with a run outside of it",
      "BUNDLE_CORRUPT",
      (directory) => {
        const report = path.join(directory, "report.json");
        const text = readFileSync(report, "utf8").replaceAll("runs/default/1", "../../../legs/linux");
        writeFileSync(report, text);
        edit(path.join(directory, "manifest.json"), (json) => {
          for (const file of json.files as { path: string; sha256: string }[]) {
            if (file.path === "report.json") file.sha256 = sha256(report);
          }
        });
      },
    ],
  ];

  it.each(CASES)("a merge of bundles that are %s reports %s and never passes", async (name, code, breakIt) => {
    const directory = broken(name.replaceAll(" ", "-"), breakIt);
    const result = await merge("legs/linux", directory, "--unjudged", "pass", "--bundle", `b-${CASES.length}-${code}`);
    expect(result.code, result.stderr).toBe(5);
    const { verdict, scenarios } = payload(result);
    expect(verdict).toBe("error");
    expect(scenarios.map(({ verdict, error }) => [verdict, error?.code])).toEqual([
      ["pass", undefined],
      ["error", code],
    ]);
    expect(scenarios[1]?.error?.message).toContain(path.join("broken", name.replaceAll(" ", "-")));
  });

  it("still reports a failed leg", async () => {
    const directory = broken("gone", (at) => rmSync(at, { recursive: true }));
    const result = await merge("legs/mac", directory, "--bundle", "b-gone");
    expect([result.code, payload(result).verdict]).toEqual([5, "fail"]);
    expect(result.stderr).toContain("above the budget");
  });

  it("merge refuses a bundle path at, above or below its inputs and overwrites nothing", async () => {
    for (const bundle of ["legs/mac", "legs", "legs/mac/merged"]) {
      const result = await merge("legs/linux", "legs/mac", "--bundle", bundle);
      expect([bundle, result.code]).toEqual([bundle, 2]);
      expect(result.stderr).toContain("MERGE_INTO_INPUT");
    }
    expect(existsSync(path.join(cwd, "legs/mac/report.json"))).toBe(true);
  });
});

describe("merging the nodes of one job", () => {
  /** A baseline of five runs in three sessions with the given peaks of ranks 0 and 1, MiB. */
  const baseline = (name: string, peaks: readonly [number, number]): string => {
    const runs = ["a", "a", "b", "b", "c"].map((session, at) => ({
      session,
      analysis_version: ANALYSIS_VERSION,
      series: peaks.map((peak, rank) => ({
        rank,
        device: "host",
        metric: "host",
        peak_bytes: Math.round((peak + at / 8) * 2 ** 20),
        // Generous: how a run of a quarter of a second grows depends on how busy the machine is.
        growth_bytes: 64 * 2 ** 20,
        class: "rising",
      })),
    }));
    mkdirSync(path.join(cwd, "measured"), { recursive: true });
    const file = path.join("measured", `${name}.json`);
    writeFileSync(
      path.join(cwd, file),
      JSON.stringify({ schema: "stormlog.measurements/1", scenario: "default", runs }),
    );
    return file;
  };

  it("the nodes of one job merge into one scenario over all ranks, with the runs of every node", async () => {
    const result = await merge("nodes/n1", "nodes/n0", "--bundle", "job", "--unjudged", "pass");
    expect(result.code, result.stderr).toBe(0);
    const { scenarios, session, warnings } = payload(result);
    expect(session).toBe("job-7");
    expect(scenarios.map(({ scenario, runs }) => [scenario, runs.map(({ directory }) => directory)])).toEqual([
      ["default", ["runs/default/1", "runs/default/2"]],
    ]);
    expect(warnings.join("\n")).toContain("not judged over all ranks (its bundles name no baseline)");
  });

  it("names missing ranks, and does not pass without them", async () => {
    const result = await merge("nodes/n0", "--baseline", "none", "--budget", "host=1GiB", "--bundle", "half");
    expect([result.code, payload(result).verdict]).toEqual([6, "unjudged"]);
    expect(payload(result).scenarios[0]?.judgement?.reason).toContain("rank 1 of 2 is missing from the bundles");
    const whole = await merge("nodes/n0", "nodes/n1", "--baseline", "none", "--budget", "host=1GiB", "--bundle", "all");
    expect([whole.code, payload(whole).verdict]).toEqual([0, "pass"]);
  });

  it("the nodes of one job are judged by a baseline of the whole job, the worst rank counting", async () => {
    const good = await merge("nodes/n0", "nodes/n1", "--baseline", baseline("good", [512, 512]), "--bundle", "j1");
    expect([good.code, payload(good).verdict], good.stderr).toEqual([0, "pass"]);
    expect(new Set(payload(good).scenarios[0]?.judgement?.checks.map(({ rank }) => rank))).toEqual(new Set([0, 1]));
    const bad = await merge("nodes/n0", "nodes/n1", "--baseline", baseline("bad", [512, 1]), "--bundle", "j2");
    expect([bad.code, payload(bad).verdict], bad.stderr).toEqual([4, "fail"]);
    expect(payload(bad).scenarios[0]?.judgement?.reason).toMatch(/^rank 1 host/);
  });

  it("names its required arguments in the error", async () => {
    const none = await merge();
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("ARGUMENT_MISSING")]);
    const expected = await merge("nodes/n0", "--expect", "0");
    expect([expected.code, expected.stderr]).toEqual([2, expect.stringContaining("EXPECT_INVALID")]);
    const budget = await merge("nodes/n0", "--budget", "host=1GiB");
    expect([budget.code, budget.stderr]).toEqual([2, expect.stringContaining("OPTION_NEEDS_BASELINE")]);
  });
});
