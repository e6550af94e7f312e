import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { storeOf } from "../../baseline/load.ts";
import { acceptBundles } from "../../gate/accept.ts";
import { prepareBundle, writeBundle } from "../../report/bundle/bundle.ts";
import { type GateReport, type ScenarioReport, scenarioReport } from "../../report/model/gate-report.ts";
import type { Scaling } from "../../report/model/report-schema.ts";
import {
  sampleAnalysis,
  sampleJudgement,
  sampleRecordingInfo,
  sampleReport,
  sampleScenario,
} from "../../report/testing/sample-report.ts";
import type { RecordingInfo } from "../../telemetry/recording/model.ts";
import type { CheckVerdict } from "../../verdict/model/judgement.ts";
import type { Invocation } from "../console/command.ts";
import { merge } from "./merge.ts";
import { reportCommands } from "./report-commands.ts";
import { show } from "./show.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "report-commands-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** What a command prints. */
async function printed(command: typeof show, over: Partial<Invocation>): Promise<string> {
  const lines: string[] = [];
  const console: Invocation["console"] = {
    json: false,
    color: false,
    quiet: false,
    width: 100,
    interactive: false,
    print: (line) => lines.push(line),
    document: () => {},
    childOutput: () => () => {},
    progress: null,
  };
  await command({ text: {}, lists: {}, flags: {}, positionals: [], rest: null, argv: [], ...over, console });
  return lines.join("\n");
}

/** The commands of the steps, without the words that start this program. */
const stepsIn = (text: string): readonly string[] =>
  [...text.matchAll(/^ {2}(?:Intended|Make one|Next): .*? ((?:baseline|run) .*)$/gm)].map(
    ([, command = ""]) => command,
  );

/** A scenario with one run of this name. */
function measured(verdict: CheckVerdict, info: Partial<RecordingInfo>, over: Partial<ScenarioReport> = {}) {
  const scenario = sampleScenario(verdict);
  const runs = scenario.runs.map((run) => ({ ...run, info: sampleRecordingInfo(info) }));
  const named = { ...scenario, scenario: info.scenario ?? "train-mlp", runs };
  // Drawing its picture would take most of a test's time.
  return scenarioReport({ ...named, timeline: null, ...over } as ScenarioReport);
}

/** A bundle as `run` leaves it. */
async function bundleOf(name: string, report: GateReport): Promise<string> {
  const bundle = path.join(directory, name);
  await prepareBundle(bundle, { argv: report.tool.argv, createdIso: report.generated_at_utc });
  for (const run of report.scenarios.flatMap(({ runs }) => runs)) {
    mkdirSync(path.join(bundle, run.directory), { recursive: true });
    writeFileSync(path.join(bundle, run.directory, "output.log"), name);
  }
  await writeBundle(bundle, report);
  return bundle;
}

const toolOf = (...argv: readonly string[]): Pick<GateReport, "tool"> => ({
  tool: { name: "stormlog-gate", version: "0.1.0", argv },
});

async function shown(report: GateReport): Promise<readonly string[]> {
  return stepsIn(await printed(show, { positionals: [await bundleOf("shown", report)] }));
}

describe("the commands that show prints", () => {
  it("the commands that show prints repeat --vary, since its scenarios have no name in the configuration", async () => {
    const scenarios = ["1", "2"].map((value) =>
      measured("unjudged", { scenario: `one@N=${value}`, session: value }, { baseline: null }),
    );
    const scaling: Scaling = {
      ...{ scenario: "one", name: "N", metric: "host", device: "host", points: [], fit: null, no_fit: "too few" },
      ...{ fits: [], verdict: null, reason: null },
    };
    const argv = ["stormlog-gate", "run", "--scenario", "one", "--vary", "N=1,2", "--", "python3", "one.py"];
    const report = sampleReport("unjudged", { scenarios, scaling: [scaling], ...toolOf(...argv) });
    expect(await shown(report)).toEqual(["baseline refresh --scenario one --vary N=1,2 -- python3 one.py"]);
  });

  it("the commands that show prints contain the command of a bundle that was made without a configuration", async () => {
    const scenarios = [measured("unjudged", { scenario: "default" })];
    const argv = ["stormlog-gate", "run", "--baseline", "none", "--bundle", "warm.b", "--", "python3", "warm.py"];
    expect(await shown(sampleReport("unjudged", { scenarios, ...toolOf(...argv) }))).toEqual([
      "baseline refresh -- python3 warm.py",
    ]);
  });

  it("the commands that show prints repeat the options of the run, and raise the limit that ended it", async () => {
    const judgement = sampleJudgement("unjudged", {
      next: { kind: "candidate-runs", runs: 2, baseRuns: 0 },
      reason: "the limit of 1 runs is reached, so 1 of 3 runs was made",
    });
    const scenarios = [measured("unjudged", {}, { judgement })];
    const argv = ["stormlog-gate", "run", "--config", "my gate.yml", "--max-runs", "1"];
    expect(await shown(sampleReport("unjudged", { scenarios, ...toolOf(...argv) }))).toEqual([
      "run --config 'my gate.yml' --max-runs 3",
    ]);
  });

  it.each([
    ["the command of an Action's step", {}, "baseline refresh --scenario train-mlp -- sh -c 'python a.py | tee b'"],
    ["a scenario of the configuration", { scenario_definition: "0a" }, "baseline refresh --scenario train-mlp"],
  ])(
    "the commands that show prints name %s, which the command line of the report lacks",
    async (_, defined, expected) => {
      const command = { argv: ["sh", "-c", "python a.py | tee b"], shell: true, cwd: "/" };
      const { fingerprint } = sampleRecordingInfo();
      const scenarios = [measured("unjudged", { command, fingerprint: { ...fingerprint, ...defined } })];
      expect(await shown(sampleReport("unjudged", { scenarios, ...toolOf("stormlog/gate") }))).toEqual([expected]);
    },
  );

  it("the commands that show prints contain a placeholder for the command where nothing was measured", () => {
    const scenario = sampleScenario("unjudged", { scenario: "default", runs: [], baseline: null });
    for (const argv of [["stormlog/gate"], ["stormlog-gate", "run", "--option-of-a-later-release"]]) {
      const report = sampleReport("unjudged", { scenarios: [scenario], ...toolOf(...argv) });
      const made = { bundle: "b", program: "gate" };
      expect(reportCommands(report, scenario, made).refresh).toBe("gate baseline refresh -- CMD");
    }
  });
});

describe("the commands of a merged report", () => {
  const leg = (name: string, over: Partial<GateReport> = {}) => {
    const scenarios = [measured("fail", { session: name })];
    return bundleOf(name, sampleReport("fail", { session: name, scenarios, ...over }));
  };

  async function merged(...legs: readonly string[]) {
    const bundle = path.join(directory, "merged");
    const argv = ["stormlog-gate", "merge", ...legs, "--bundle", bundle];
    const text = await printed(merge, { positionals: legs, text: { bundle }, argv });
    const again = () => printed(show, { positionals: [bundle] });
    return { bundle, steps: stepsIn(text), again: async () => stepsIn(await again()) };
  }

  it("a merged report's commands have a placeholder for a leg's bundle, since the merged one has the leg in the scenario's name", async () => {
    const { bundle, steps, again } = await merged(await leg("linux"), await leg("mac"));
    expect(steps).toEqual(Array(2).fill("baseline accept LEG_BUNDLE --scenario train-mlp"));
    expect(await again()).toEqual(steps);
    const store = storeOf(`file:${path.join(directory, "store")}`, directory);
    const accepted = await acceptBundles([bundle], "", store);
    expect(accepted.map(({ record }) => record.scenario)).toEqual(["linux/train-mlp", "mac/train-mlp"]);
  });

  it("a merged report's commands accept the merged bundle where it has the scenario under its own name", async () => {
    const { bundle, steps, again } = await merged(await leg("linux"));
    expect(steps).toEqual([`baseline accept ${bundle}`]);
    expect(await again()).toEqual(steps);
  });

  it("a merged report's commands make a baseline of recordings by accepting merged bundles", () => {
    const scenario = measured("unjudged", {});
    const ranks = { ...sampleAnalysis().ranks, participating_ranks: [0, 1], world_size: 2 };
    const runs = scenario.runs.map((run) => ({ ...run, analysis: sampleAnalysis({ ranks }) }));
    const many = scenarioReport({ ...scenario, runs } as ScenarioReport);
    const report = sampleReport("unjudged", { scenarios: [many], ...toolOf("stormlog-gate", "merge", "recordings") });
    expect(reportCommands(report, many, { bundle: "m", program: "gate" }).refresh).toBe(
      "gate baseline accept MERGED_BUNDLES",
    );
  });
});
