import { describe, expect, it } from "vitest";
import { sideNotes } from "../report/headline/sentence.ts";
import { leadText } from "../report/markdown/answer.ts";
import { type ScenarioReport, scenarioReport, type Verdict } from "../report/model/gate-report.ts";
import { sampleCheck, sampleReport, sampleScenario } from "../report/testing/sample-report.ts";
import { combine } from "../verdict/model/combine.ts";
import type { Check } from "../verdict/model/judgement.ts";
import { groupNodes, type LegScenario, missingRanks, unitedScenario } from "./merge-nodes.ts";

/** A node with one rank of a world of `world`, and the sample's checks for that rank. */
function node(rank: number, verdict: Verdict, world = 2, more: Partial<ScenarioReport> = {}): LegScenario {
  const scenario = sampleScenario(verdict);
  const ofRank = <T extends { readonly rank: number }>(one: T): T => ({ ...one, rank });
  const runs = scenario.runs.map((run) => ({
    ...run,
    info: { ...run.info, identity: { ...run.info.identity, rank, world_size: world } },
    analysis:
      run.analysis === null
        ? null
        : {
            ...run.analysis,
            series: run.analysis.series.map(ofRank),
            ranks: { ...run.analysis.ranks, world_size: world, participating_ranks: [rank] },
          },
  }));
  const checks = scenario.judgement?.checks.map(ofRank) ?? [];
  return {
    leg: `n${rank}`,
    session: "job-7",
    scenario: scenarioReport({ ...scenario, judgement: scenario.judgement && combine(checks, []), runs, ...more }),
  };
}

const withChecks = (one: LegScenario, ...checks: Check[]): LegScenario => ({
  ...one,
  scenario: scenarioReport({
    ...one.scenario,
    judgement: combine([...(one.scenario.judgement?.checks ?? []), ...checks], []),
  }),
});

describe("scenarios of one job", () => {
  it("groupNodes groups scenarios of one session and one environment that share no series", () => {
    expect(groupNodes([node(0, "pass"), node(1, "pass")])).toHaveLength(1);
    expect(groupNodes([node(0, "pass"), { ...node(1, "pass"), session: "other" }])).toHaveLength(2);
    expect(groupNodes([node(0, "pass"), node(0, "pass")])).toHaveLength(2);
    const other = { fingerprint: { ...sampleScenario().fingerprint, device_model: "another" } };
    expect(groupNodes([node(0, "pass"), node(1, "pass", 2, other)])).toHaveLength(2);
  });
});

describe("nodes of one job", () => {
  it("a job of several nodes has the verdict of its worst rank", () => {
    const job = unitedScenario([node(0, "pass"), node(1, "fail")]);
    expect(job.verdict).toBe("fail");
    expect(job.judgement?.reason).toMatch(/^rank 1 allocated/);
    expect(new Set(job.judgement?.checks.map(({ rank }) => rank))).toEqual(new Set([0, 1]));
    expect(job.runs).toHaveLength(2);
    expect(job.timeline?.verdict).toBe("fail");
  });

  it("nodes of one job do not report each other's ranks as missing", () => {
    const gone = (rank: number) =>
      sampleCheck({ rank, verdict: "unjudged", reason: "the baseline has this series, the candidate has not" });
    const nodes = [withChecks(node(0, "pass"), gone(1)), withChecks(node(1, "pass"), gone(0))];
    expect(nodes.map(({ scenario }) => scenario.judgement?.verdict)).toEqual(["unjudged", "unjudged"]);
    expect(unitedScenario(nodes).verdict).toBe("pass");
    // A rank that no node has remains unjudged.
    const more = nodes.map((one) => withChecks(one, gone(9)));
    const job = unitedScenario(more);
    expect(job.verdict).toBe("unjudged");
    expect(job.judgement?.checks.filter(({ rank }) => rank === 9)).toHaveLength(1);
  });

  it("a job is unjudged while a rank of its world is missing, and the reason names the rank", () => {
    expect(missingRanks([node(0, "pass"), node(1, "pass")])).toBeNull();
    const job = unitedScenario([node(0, "pass", 16), node(1, "pass", 16)]);
    expect(job.verdict).toBe("unjudged");
    expect(job.judgement?.reason).toContain("ranks 2 to 15 of 16 are missing from the bundles");
    expect(missingRanks([node(1, "pass", 4)])?.reason).toContain("ranks 0, 2, 3 of 4");
    expect(unitedScenario([node(0, "fail", 3), node(1, "pass", 3)]).verdict).toBe("fail");
    expect(sideNotes(job)).toEqual([]);
  });

  it("a missing rank stands on the first screen beside another failure", () => {
    const note = "rank 2 of 3 is missing from the bundles";
    const failed = unitedScenario([node(0, "fail", 3), node(1, "pass", 3)]);
    expect(sideNotes(failed)).toEqual([note]);
    expect(leadText(failed, () => null)).toContain("Rank 2 of 3 is missing from the bundles.");
    expect(unitedScenario([node(0, "pass", 3), node(1, "error", 3)]).error?.message).toMatch(new RegExp(`; ${note}$`));
  });

  it("a job is an error when the command of one node failed, unless another node fails", () => {
    const broken = node(1, "error");
    expect(unitedScenario([node(0, "pass"), broken])).toMatchObject({
      verdict: "error",
      judgement: null,
      error: { message: expect.stringMatching(/^n1: /) },
    });
    expect(unitedScenario([node(0, "fail"), broken])).toMatchObject({
      verdict: "fail",
      error: { code: "COMMAND_FAILED" },
    });
  });

  it("a job is a warning when the difference of one node was accepted and no other node failed", () => {
    const accepted = {
      difference: "x-1",
      by: "ada",
      reason: "intended",
      via: "comment" as const,
      at_iso: null,
      head_sha: null,
      url: null,
    };
    const taken = node(1, "fail", 2, { verdict: "warn", accepted });
    expect(unitedScenario([node(0, "pass"), taken])).toMatchObject({ verdict: "warn", accepted: { by: "ada" } });
    expect(unitedScenario([node(0, "fail"), taken]).verdict).toBe("fail");
    const third = node(1, "fail", 3, { verdict: "warn", accepted });
    expect(unitedScenario([node(0, "pass", 3), third]).verdict).toBe("unjudged");
  });

  it("unitedScenario throws without any node", () => {
    expect(() => unitedScenario([])).toThrow(/at least one node/);
    expect(sampleReport().scenarios).toHaveLength(1);
  });
});
