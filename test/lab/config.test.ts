import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { scenarioDefinition } from "../../src/config/options.ts";
import { packageRoot } from "../../src/core/package-root.ts";
import { CATALOGUE } from "../../src/lab/catalogue.ts";
import type { LabDocument } from "../../src/lab/report/document.ts";
import { patternDefinition } from "../../src/lab/round.ts";
import { cli, freshDirectory } from "../e2e/cli.ts";

const FILE = path.join(packageRoot(), "leak-lab", "stormlog-gate.yml");
const BY_DEFAULT = { scale: "tiny", steps: null };
/** Frameworks that few machines have together; a missing one would be an error of the scenario. */
const LEFT_OUT = ["tensorflow", "jax"];

describe("the leak lab's own configuration", () => {
  const { scenarios, baseline } = loadConfig(FILE);

  it("the configuration has every pattern of the catalogue in its order, or lists it as left out", () => {
    const gated = CATALOGUE.filter(({ framework }) => !LEFT_OUT.includes(framework));
    expect(scenarios.map(({ name }) => name)).toEqual(gated.map(({ name }) => name));
    const comments = readFileSync(FILE, "utf8")
      .split("\n")
      .filter((line) => line.startsWith("# - "));
    const named = comments.flatMap((line) => /^# - ([\w, ]+): need/.exec(line)?.[1]?.split(", ") ?? []);
    expect(named).toEqual(CATALOGUE.filter((entry) => !gated.includes(entry)).map(({ name }) => name));
  });

  it("runs each as a round of the lab does, so that both keep the same records", () => {
    for (const scenario of scenarios) {
      const entry = CATALOGUE.find(({ name }) => name === scenario.name);
      if (entry === undefined) throw new Error(`no pattern ${scenario.name}`);
      expect(scenarioDefinition(scenario)).toBe(patternDefinition(entry, BY_DEFAULT));
      expect(existsSync(path.join(path.dirname(FILE), entry.file))).toBe(true);
    }
  });

  it("keeps its records in the repository's baselines", () => {
    expect(path.resolve(path.dirname(FILE), String(baseline).replace(/^file:/, ""))).toBe(
      path.join(packageRoot(), "baselines"),
    );
  });
});

describe.skipIf(!existsSync("/usr/bin/python3"))("a round by stored baselines", () => {
  const directory = freshDirectory();
  const store = path.join(directory, "store");
  /** Patterns run by /usr/bin/python3, as the configuration's `python3` does. */
  const env = { PATH: `/usr/bin:${process.env.PATH ?? ""}` };
  const round = async (pattern: string, output: string): Promise<{ document: LabDocument; shown: string }> => {
    const args = ["lab", "run", pattern, "--json", "--baseline", `file:${store}`, "--output", output];
    const { code, stdout, stderr } = await cli(args, { cwd: directory, env });
    expect(code, stderr).toBe(0);
    return { document: JSON.parse(stdout), shown: stderr };
  };

  beforeAll(async () => {
    const args = ["baseline", "refresh", "--config", FILE, "--scenario", "python_cache", "--baseline", `file:${store}`];
    const { code, stderr } = await cli(args, { cwd: directory, env });
    expect(code, stderr).toBe(0);
  }, 120_000);

  it("judges by the record that the configuration made, measures none, and confirms the leak by the fixed state", async () => {
    const { document, shown } = await round("python_cache", "known");
    expect(document.patterns).toMatchObject([
      { outcome: "caught", leaky: { verdict: "fail", confirmed: true }, fixed: { verdict: "pass", runs: 1 } },
    ]);
    expect(existsSync(path.join(directory, "known", "baseline"))).toBe(false);
    expect(shown).not.toContain("become the baseline");
    const runs = readdirSync(path.join(directory, "known", "python_cache", "leaky", "runs", "python_cache"));
    expect(runs).toContain("base-1");
  }, 180_000);

  it("measures a baseline and reports it where the store has no record of the pattern", async () => {
    const { document, shown } = await round("node_cache", "unknown");
    expect(document.patterns).toMatchObject([{ outcome: "caught", fixed: { verdict: "pass" } }]);
    expect(shown).toContain(
      `no usable baseline for scenario "node_cache": 5 runs of the fixed state become the baseline`,
    );
    expect(existsSync(path.join(directory, "unknown", "baseline", "node_cache"))).toBe(true);
    expect(existsSync(path.join(store, "node_cache"))).toBe(false);
  }, 180_000);

  it("does not pass over a store that is not there", async () => {
    const args = [
      "lab",
      "run",
      "node_cache",
      "--json",
      "--baseline",
      "file:nowhere",
      "--steps",
      "20",
      "--output",
      "absent",
    ];
    const { code, stdout } = await cli(args, { cwd: directory, env });
    expect(code).toBe(1);
    const document: LabDocument = JSON.parse(stdout);
    expect(document.patterns).toMatchObject([{ outcome: "broken" }]);
    expect(document.patterns[0]?.reason).toContain("the baseline store file:nowhere does not exist");
  }, 120_000);
});
