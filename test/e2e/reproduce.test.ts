import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { parseStormlogReport } from "../../src/report/documents/parse-report.ts";
import type { GateReport, ScenarioReport } from "../../src/report/model/gate-report.ts";
import { reproduceCommand } from "../../src/report/wording/reproduce.ts";
import { installGate } from "../testing/installed-gate.ts";
import { freshDirectory } from "./cli.ts";

/** Calls `remember` a hundred times; the leak is in the module that it calls. */
const SERVICE = `const { remember } = require("./store.cjs");
const request = Buffer.alloc(512 * 1024, 1);
let calls = 0;
const timer = setInterval(() => {
  remember(request);
  if (++calls === 100) clearInterval(timer);
}, 20);
`;
const store = (line: string): string =>
  ["const kept = [];", "exports.remember = (value) => {", `  ${line}`, "  return kept.length;", "};", ""].join("\n");
const CONFIG = {
  scenarios: [{ name: "serve", run: [process.execPath, "service.cjs"], env: { MODE: "a b" } }],
  policy: { "max-runs": 6 },
};

interface Failed {
  readonly report: GateReport;
  readonly scenario: ScenarioReport;
}

/** What grows in a report, and the lines that it names. */
function causeOf({ scenario }: Failed) {
  const checks = scenario.judgement?.checks ?? [];
  return {
    verdict: scenario.verdict,
    grows: checks
      .filter(({ verdict, aspect }) => verdict === "fail" && aspect === "growth")
      .map(({ metric }) => metric),
    lines: scenario.findings
      .filter(({ classification }) => classification === "leak_line")
      .map(({ evidence }) => [evidence.line, evidence.changed]),
  };
}

describe("the command that reproduces a red verdict", () => {
  let directory = "";
  let bin = "";
  const git = (cwd: string, ...args: string[]): string =>
    execFileSync("git", ["-C", cwd, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  /** A shell line in a clone where the gate is installed, as `npm ci` would. */
  const shell = (line: string, cwd: string) => {
    const env = { PATH: `${bin}:${process.env.PATH}`, HOME: directory, NO_COLOR: "1", npm_config_offline: "true" };
    return spawnSync("sh", ["-c", line], { cwd, env, encoding: "utf8", timeout: 240_000 });
  };
  const install = (clone: string): void => {
    mkdirSync(path.join(clone, "node_modules", ".bin"), { recursive: true });
    symlinkSync(path.join(bin, "stormlog-gate"), path.join(clone, "node_modules", ".bin", "stormlog-gate"));
  };
  const read = (bundle: string): Failed => {
    const json: unknown = JSON.parse(readFileSync(path.join(bundle, "report.json"), "utf8"));
    const { report } = parseStormlogReport(json, bundle);
    return { report, scenario: report.scenarios[0] as ScenarioReport };
  };

  beforeAll(async () => {
    directory = freshDirectory();
    const installed = path.join(directory, "installed");
    mkdirSync(installed);
    ({ bin } = await installGate(installed));
  }, 60_000);

  it("the reproducing command fails for the same cause in a fresh clone", { timeout: 600_000 }, () => {
    const top = path.join(directory, "repo");
    const pkg = path.join(top, "my service");
    mkdirSync(pkg, { recursive: true });
    git(top, "init", "--quiet", "--initial-branch=main");
    writeFileSync(path.join(top, ".gitignore"), "node_modules/\nstormlog-bundle/\n");
    writeFileSync(path.join(pkg, "service.cjs"), SERVICE);
    writeFileSync(path.join(pkg, "store.cjs"), store("kept[0] = value;"));
    writeFileSync(path.join(pkg, "stormlog-gate.yml"), stringify(CONFIG));
    install(top);
    const refreshed = shell("stormlog-gate baseline refresh", pkg);
    expect(refreshed.status, refreshed.stderr).toBe(0);
    git(top, "add", "--all");
    git(top, "commit", "--quiet", "-m", "base");
    git(top, "checkout", "--quiet", "-b", "feature");
    writeFileSync(path.join(pkg, "store.cjs"), store("kept.push(Buffer.from(value));"));
    git(top, "commit", "--quiet", "-am", "keep everything");

    const red = shell("stormlog-gate run --repeats 2 --base-run off", pkg);
    expect(red.status, red.stdout + red.stderr).toBe(4);
    const first = read(path.join(pkg, "stormlog-bundle"));
    expect(causeOf(first)).toEqual({
      verdict: "fail",
      grows: ["host"],
      lines: [["my service/store.cjs:3", "changed"]],
    });
    const found = reproduceCommand(first.report, first.scenario);
    expect(found).toEqual({
      command:
        `git checkout ${git(top, "rev-parse", "HEAD")} && cd "$(git rev-parse --show-toplevel)"/'my service' && ` +
        "npx stormlog-gate run --scenario serve --repeats 2 --base-run off",
      differs: expect.stringContaining("recorded on: "),
    });

    const clone = path.join(directory, "clone");
    git(top, "checkout", "--quiet", "main");
    git(directory, "clone", "--quiet", top, clone);
    install(clone);
    const again = shell(found?.command ?? "", clone);
    expect(again.status, again.stdout + again.stderr).toBe(4);
    expect(causeOf(read(path.join(clone, "my service", "stormlog-bundle")))).toEqual(causeOf(first));
  });
});
