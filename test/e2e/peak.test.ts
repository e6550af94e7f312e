import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parseStormlogReport } from "../../src/report/documents/parse-report.ts";
import { isSampled, PYTHON } from "../attribution/testing/attributed.ts";
import { cli, freshDirectory } from "./cli.ts";

const program = (rows: number): string => `import time
from stormlog_gate import phase

def read(rows):
    return ["row %d of the dataset, with its text" % row for row in range(rows)]

def main():
    with phase("load"):
        rows = read(${rows})
        time.sleep(0.4)
    return len(rows)

main()
`;

const reportIn = (cwd: string) => {
  const file = path.join(cwd, "stormlog-bundle", "report.json");
  const [scenario] = parseStormlogReport(JSON.parse(readFileSync(file, "utf8")), file).report.scenarios;
  return { findings: scenario?.findings ?? [], runs: scenario?.runs ?? [], peak: scenario?.peak };
};

describe.skipIf(!isSampled || !existsSync(PYTHON))("a peak that is higher and does not grow", () => {
  it("a higher peak is explained by the line that holds more than on the base commit", {
    timeout: 120_000,
  }, async () => {
    const cwd = freshDirectory();
    const git = (...args: string[]) =>
      execFileSync("git", ["-C", cwd, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args]);
    git("init", "--quiet", "--initial-branch=main");
    writeFileSync(path.join(cwd, "train.py"), program(50_000));
    git("add", ".");
    git("commit", "--quiet", "-m", "base");
    const command = ["--", PYTHON, "train.py"];
    expect((await cli(["baseline", "refresh", ...command], { cwd })).code).toBe(0);
    git("checkout", "--quiet", "-b", "feature");
    writeFileSync(path.join(cwd, "train.py"), program(250_000));
    git("commit", "--quiet", "-am", "more rows");

    const { code, stdout } = await cli(["run", ...command], { cwd });
    expect(code, stdout).toBe(4);
    const { findings, runs } = reportIn(cwd);
    expect(findings.map(({ classification, evidence }) => [classification, evidence.line])).toEqual([
      ["peak_line", "train.py:5"],
    ]);
    expect(findings[0]?.evidence).toMatchObject({ changed: "unchanged", called_from: "train.py:9", phase: "load" });
    expect(findings[0]?.explained_by).toContain("peak");
    expect(runs.filter(({ role }) => role === "attribution")).toHaveLength(2);
    expect(stdout).toMatch(/▶ 5 │ return \["row .* more than on the base, \d+ % of the difference, in phase load/s);
    expect(stdout).toContain("unchanged; called from train.py:9, which changed");
  });

  it("a higher peak without a base to compare with shows what it consists of", { timeout: 60_000 }, async () => {
    const cwd = freshDirectory();
    writeFileSync(path.join(cwd, "train.py"), program(400_000));
    const { code, stdout } = await cli(["run", "--budget", "host=32MiB", "--", PYTHON, "train.py"], { cwd });
    expect(code, stdout).toBe(4);
    const { findings } = reportIn(cwd);
    expect(findings.map(({ classification, evidence }) => [classification, evidence.line])).toEqual([
      ["held_at_peak", "train.py:5"],
    ]);
    expect(stdout).toMatch(/ of .* are held at train\.py:5; no other peak to compare with/);
    // Nothing was compared, so nothing is said of a cause.
    expect(stdout).not.toContain("than on the base");
    expect(stdout).not.toContain("▶");
  });

  it("processes that ran one after the other do not add up to a peak", { timeout: 60_000 }, async () => {
    const cwd = freshDirectory();
    // It rises at the start of each, which no line explains.
    const worker = ["held = []", "for _ in range(20):", "    held.append(bytearray(2 << 20)); time.sleep(0.02)"];
    const turns = ["for _ in range(2): subprocess.run([sys.executable, 'worker.py'])"];
    writeFileSync(path.join(cwd, "worker.py"), ["import time", ...worker, "time.sleep(0.5)", ""].join("\n"));
    writeFileSync(path.join(cwd, "train.py"), ["import subprocess, sys", ...turns, ""].join("\n"));
    const { code, stdout } = await cli(["run", "--budget", "host=30MiB", "--", PYTHON, "train.py"], { cwd });
    expect(code, stdout).toBe(4);
    expect(stdout).toMatch(/4\d\.\d MiB of \d+\.\d MiB are held at worker\.py:4; no other peak/);
    const { explained, bytes } = reportIn(cwd).peak ?? {};
    // The heap of the run that explains is a little larger; both processes would be twice as much.
    expect(explained?.bytes).toBeGreaterThan(0.7 * (bytes ?? 0));
    expect(explained?.bytes).toBeLessThan(1.5 * (bytes ?? 0));
  });

  it("a refresh stores what peaks consist of, and notes the scenario that cannot be sampled", {
    timeout: 60_000,
  }, async () => {
    const cwd = freshDirectory();
    writeFileSync(path.join(cwd, "train.py"), program(50_000));
    const scenario = (name: string, command: string) => `  - name: ${name}\n    run: ${command}\n`;
    const both = scenario("shell", "sleep 0.3") + scenario("train", `${PYTHON} train.py`);
    writeFileSync(path.join(cwd, "stormlog-gate.yml"), `scenarios:\n${both}`);
    const refresh = ["baseline", "refresh", "--runs", "1", "--composition"];
    const whole = await cli(refresh, { cwd });
    expect(whole.code, whole.stderr).toBe(0);
    expect(whole.stdout).toMatch(/^note: shell: the runs are stored, but not what the peak consists of/m);
    const kept = readdirSync(path.join(cwd, "baselines"), { recursive: true }).filter((name) =>
      String(name).endsWith(".peak.json"),
    );
    expect(kept).toEqual([expect.stringMatching(/^train\//)]);
    const alone = await cli([...refresh, "--scenario", "shell"], { cwd });
    expect([alone.code, alone.stderr]).toEqual([1, expect.stringContaining("COMPOSITION_UNMEASURED")]);
  });
});
