import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ANALYSIS_VERSION } from "../../src/analysis/series/document.ts";
import { type CliResult, cli, freshDirectory } from "./cli.ts";

/** Each run takes the next line of the plan: MiB to hold, and seconds to last. */
const PLANNED = `
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
const count = existsSync("count") ? Number(readFileSync("count", "utf8")) + 1 : 1;
writeFileSync("count", String(count));
const plan = readFileSync("plan", "utf8").trim().split("\\n");
const [mebibytes, seconds, obstacle] = plan[Math.min(count, plan.length) - 1].split(" ");
if (obstacle) { mkdirSync(obstacle, { recursive: true }); writeFileSync(obstacle + "/recording.json", ""); }
const keep = Buffer.alloc(Number(mebibytes) * 2 ** 20, 1);
setTimeout(() => keep.length, Number(seconds) * 1000);
`;

interface Report {
  readonly verdict: string;
  readonly confirmed: boolean;
  readonly cost: { readonly runs: number; readonly minutes: number };
  readonly warnings: readonly string[];
  readonly scenarios: readonly {
    readonly verdict: string;
    readonly error: { readonly code: string } | null;
    readonly judgement: { readonly reason: string } | null;
    readonly runs: readonly { readonly role: string; readonly info: { readonly exit: { readonly kind: string } } }[];
  }[];
}

/** A directory with the workload, a plan of its runs and a baseline whose host peak is 1 MiB or, to pass, 512 MiB. */
function workplace(plan: readonly string[], baselineMebibytes = 1): string {
  const cwd = freshDirectory();
  writeFileSync(path.join(cwd, "work.mjs"), PLANNED);
  writeFileSync(path.join(cwd, "plan"), `${plan.join("\n")}\n`);
  const runs = ["a", "a", "b", "b", "c"].map((session, at) => ({
    session,
    analysis_version: ANALYSIS_VERSION,
    series: [
      {
        ...{ rank: 0, device: "host", metric: "host", growth_bytes: 0, class: "flat" },
        peak_bytes: baselineMebibytes * 2 ** 20 + at * 4096,
      },
    ],
  }));
  writeFileSync(
    path.join(cwd, "baseline.json"),
    JSON.stringify({ schema: "stormlog.measurements/1", scenario: "default", runs }),
  );
  return cwd;
}

const gate = (cwd: string, ...options: string[]): Promise<CliResult> => {
  const outside = options.includes("--probe") ? [] : ["--probe", "off", "--attribute", "off"];
  const args = ["run", "--json", "--baseline", "baseline.json", ...outside, ...options];
  return cli([...args, "--", process.execPath, "work.mjs"], { cwd });
};

const reportOf = ({ stdout }: CliResult): Report => JSON.parse(stdout).payload;

const kinds = (report: Report) => report.scenarios[0]?.runs.map(({ role, info }) => `${role} ${info.exit.kind}`) ?? [];

describe("the limits on runs and minutes", { timeout: 240_000 }, () => {
  it("the limit of runs leaves a fail unconfirmed when the runs are used up", async () => {
    const cwd = workplace(["64 0.8"]);
    const result = await gate(cwd, "--max-runs", "2");
    expect(result.code, result.stderr).toBe(4);
    const report = reportOf(result);
    expect(report).toMatchObject({ verdict: "fail", confirmed: false, cost: { runs: 2 } });
    expect(report.warnings.join("\n")).toContain("the limit of 2 runs is reached, so the breach stays unconfirmed");
    const summary = readFileSync(path.join(cwd, "stormlog-bundle/summary.md"), "utf8");
    expect(summary).toMatch(/2 runs in/);
  });

  it("the limit of one run leaves a fail unconfirmed", async () => {
    const result = await gate(workplace(["64 0.8"]), "--max-runs", "1");
    expect([result.code, reportOf(result).confirmed, reportOf(result).cost.runs]).toEqual([4, false, 1]);
  });

  it("the limit of runs counts candidate and base runs together, and a peak is explained beside them", async () => {
    const cwd = workplace(["64 0.8"]);
    const git = (...args: string[]) =>
      execFileSync("git", ["-C", cwd, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args]);
    git("init", "--quiet", "--initial-branch=main");
    const plan = path.join(cwd, "plan");
    writeFileSync(plan, "1 0.8\n");
    git("add", ".");
    git("commit", "--quiet", "-m", "base");
    git("checkout", "--quiet", "-b", "feature");
    writeFileSync(plan, "96 0.8\n");
    git("commit", "--quiet", "-am", "more");
    const args = ["--base-run", "auto", "--probe", "auto", "--attribute", "always"];
    const whole = reportOf(await gate(cwd, ...args, "--max-runs", "20"));
    const roles = kinds(whole).map((kind) => kind.split(" ")[0]);
    expect(new Set(roles)).toEqual(new Set(["candidate", "base", "attribution"]));
    expect(whole).toMatchObject({ verdict: "fail", cost: { runs: roles.length } });
    const most = roles.indexOf("base");
    const cut = await gate(cwd, ...args, "--max-runs", String(most));
    expect(cut.code).toBe(4);
    const made = kinds(reportOf(cut)).map((kind) => kind.split(" ")[0]);
    expect(made).toEqual([...roles.slice(0, most), "attribution", "attribution"]);
    const summary = readFileSync(path.join(cwd, "stormlog-bundle/summary.md"), "utf8");
    expect(summary.split("\n", 4).join(" ")).toMatch(/unconfirmed; needs \d runs? of the base\./i);
    const warnings = reportOf(cut).warnings.join("\n");
    expect(warnings).toContain(`the limit of ${most} runs is reached, so the breach stays unconfirmed`);
  });

  it("the limit of minutes ends a run, which is not judged", async () => {
    // The second run is small enough to dismiss the breach.
    const cwd = workplace(["64 0.8", "0 120"], 24);
    const result = await gate(cwd, "--max-minutes", "0.3");
    expect(result.code, result.stderr).toBe(4);
    const report = reportOf(result);
    expect(report).toMatchObject({ verdict: "fail", confirmed: false, cost: { runs: 2 } });
    expect(kinds(report)).toEqual(["candidate exited", "candidate timeout"]);
    expect(report.warnings.join("\n")).toContain(
      "the limit of 0.3 minutes is reached, so the breach stays unconfirmed",
    );
    const measured = JSON.parse(readFileSync(path.join(cwd, "stormlog-bundle/measurements.json"), "utf8"));
    expect(measured.runs).toHaveLength(1);
  });

  it("the limit of runs leaves fewer runs than requested unjudged", async () => {
    const result = await gate(workplace(["8 0.2"], 512), "--repeats", "3", "--max-runs", "2");
    expect([result.code, reportOf(result).verdict]).toEqual([6, "unjudged"]);
    expect(reportOf(result).scenarios[0]?.judgement?.reason).toContain("2 of 3 runs were made");
    const enough = await gate(workplace(["8 0.2"], 512), "--repeats", "2", "--max-runs", "2");
    expect([enough.code, reportOf(enough).verdict]).toEqual([0, "pass"]);
  });

  it("finished runs are kept when the next one cannot start", async () => {
    const cwd = workplace(["64 0.8 stormlog-bundle/runs/default/2"]);
    const result = await gate(cwd);
    expect(result.code, result.stderr).toBe(1);
    const [scenario] = reportOf(result).scenarios;
    expect(scenario?.error?.code).toMatch(/^RUN_DIRECTORY/);
    expect(kinds(reportOf(result))).toEqual(["candidate exited"]);
    expect(readdirSync(path.join(cwd, "stormlog-bundle/runs/default/1"))).toContain("samples.parquet");
  });
});
