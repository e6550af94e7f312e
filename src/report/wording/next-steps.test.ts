import { describe, expect, it } from "vitest";
import type { Check } from "../../verdict/model/judgement.ts";
import { type ScenarioReport, scenarioReport } from "../model/gate-report.ts";
import { sampleCheck, sampleJudgement, sampleRecordingInfo, sampleScenario } from "../testing/sample-report.ts";
import { ACCEPT, nameInLeg, nextSteps, REFRESH } from "./next-steps.ts";

const NO_PHASE = sampleCheck({
  ...{ device: "*", phase: "train", aspect: "growth", verdict: "unjudged", reason: "no run has this phase" },
  ...{ candidate_bytes: null, baseline_bytes: null, threshold_bytes: null },
});
const NO_COUNTER = sampleCheck({
  ...{ device: "*", metric: "used", limit: "budget", verdict: "unjudged" },
  ...{ candidate_bytes: null, baseline_bytes: null, reason: "the budget of 1.00 GiB for used cannot be checked" },
});
const NO_BASELINE = sampleCheck({ verdict: "unjudged", baseline_bytes: null, threshold_bytes: null, reason: "none" });

const DOCTOR = expect.objectContaining({ name: "Next", text: expect.stringContaining("`stormlog-gate doctor`") });
const MAKE_ONE = expect.objectContaining({ name: "Make one", command: REFRESH });

/** The steps of an unjudged scenario with these checks. */
function stepsFor(checks: readonly Check[], over: Partial<ScenarioReport> = {}) {
  const judgement = sampleJudgement("unjudged", { checks, fingerprint: [] });
  return nextSteps(sampleScenario("unjudged", { judgement, ...over }));
}

describe("the next step of an unjudged scenario", () => {
  it("records a baseline where there is none", () => {
    expect(stepsFor([NO_BASELINE])).toEqual([MAKE_ONE]);
    expect(stepsFor([])).toEqual([MAKE_ONE]);
  });

  it("checks the name of a phase that no run has, instead of recording a baseline", () => {
    expect(stepsFor([sampleCheck(), NO_PHASE])).toEqual([
      { name: "Next", text: 'Check "train" in policy.gating-phases. The program does not name any phase.' },
    ]);
  });

  it("lists the phases that the program names", () => {
    const names = ["training", "a", "b", "c", "d"];
    const memory = { entered: 1, unended: 0, processes: 1, seconds: 1, highest_bytes: null, growth_bytes: null };
    const phases = {
      metric: "host",
      device: null,
      phases: names.map((name) => ({ name, ...memory })),
      dropped: 0,
    } as const;
    const runs = sampleScenario("unjudged").runs.map((run) => ({ ...run, phases }));
    expect(stepsFor([NO_PHASE], { runs })[0]?.text).toMatch(
      /The program names "training", "a", "b", "c", and 1 more\.$/,
    );
  });

  it("points to doctor where only metrics that do not gate were measured", () => {
    expect(stepsFor([sampleCheck({ gating: false })])).toEqual([DOCTOR]);
  });

  it("points to doctor where the metric of a budget was not measured", () => {
    expect(stepsFor([sampleCheck(), NO_COUNTER])).toEqual([DOCTOR]);
  });

  it("an unjudged scenario has no next step where neither a baseline nor a setting helps", () => {
    const cut = sampleCheck({ limit: "budget", verdict: "unjudged", reason: "the samples end early in every run" });
    const rank = sampleCheck({ device: "*", verdict: "unjudged", candidate_bytes: null, reason: "rank 1 is missing" });
    expect(stepsFor([cut])).toEqual([]);
    expect(stepsFor([rank])).toEqual([]);
  });

  it("an unjudged scenario has one next step for each reason", () => {
    const steps = stepsFor([NO_PHASE, NO_COUNTER, NO_BASELINE]);
    expect(steps).toEqual([expect.objectContaining({ name: "Next" }), DOCTOR, MAKE_ONE]);
  });

  it("accepts merged bundles where nodes were merged, since no command measures on several nodes", () => {
    const [run] = sampleScenario("unjudged").runs;
    const identity = { ...sampleRecordingInfo().identity, rank: 1, world_size: 2 };
    const runs = run === undefined ? [] : [run, { ...run, info: { ...run.info, identity } }];
    const [step, ...others] = stepsFor([NO_BASELINE], { runs });
    expect([step?.name, step?.command, others]).toEqual(["Make one", undefined, []]);
    expect(step?.text).toContain("`stormlog-gate baseline accept`");
  });
});

describe("a scenario that a merge renamed", () => {
  const renamed = (scenario: string) => scenarioReport({ ...sampleScenario("fail"), scenario });

  it.each([
    ["linux/train-mlp", "train-mlp"],
    ["a/b+c/train-mlp (2)", "train-mlp"],
    ["train-mlp", null],
    ["train-mlp and 1 more", null],
    ["other", null],
  ])("a scenario that a merge renamed is recognised by its recordings: %s", (scenario, name) => {
    expect(nameInLeg(renamed(scenario))).toBe(name);
  });

  it("a scenario that a merge renamed is accepted by the bundle of its leg", () => {
    expect(nextSteps(renamed("linux/train-mlp"))).toEqual([
      expect.objectContaining({ command: ACCEPT, text: expect.stringContaining("the bundle of this leg") }),
    ]);
    expect(nextSteps(renamed("train-mlp"))[0]?.text).toBe("accept it as the new baseline:");
  });
});
