import { describe, expect, it } from "vitest";
import type { MeasuredSeries, Measurements } from "../../analysis/measurements.ts";
import { judge } from "../judge.ts";
import { DEFAULT_POLICY } from "../model/defaults.ts";

const STEPS = 400;

function runs(session: string, growth: number, slope: number | null, count: number): Measurements {
  const series: MeasuredSeries = {
    rank: 0,
    device: "cuda:0",
    metric: "allocated",
    peak_bytes: 2 ** 30,
    growth_bytes: growth,
    ...(slope === null ? {} : { slope_bytes_per_step: slope }),
    class: "flat",
  };
  return {
    scenario: "s",
    fingerprint: null,
    runs: Array.from({ length: count }, () => ({ session, commit: null, series: [series] })),
  };
}

const judged = (baselineSlope: number | null, perStep: number) =>
  judge({
    candidate: runs("now", perStep * STEPS, perStep, 6),
    baseline: runs("now", 0, baselineSlope, 10),
    anchor: null,
    policy: { ...DEFAULT_POLICY, horizon: { kind: "steps", steps: 1_000_000 } },
    baseRunsPossible: false,
  });

describe("growth against a baseline that gives memory back", () => {
  const judgedGrowth = (growth: number) =>
    judge({
      candidate: runs("now", growth, null, 6),
      baseline: runs("before", -(2 ** 25), null, 5),
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: false,
    }).checks.find(({ aspect }) => aspect === "growth");

  it("a run that stays level has not grown, and one that gives back as much neither", () => {
    expect(judgedGrowth(0)).toMatchObject({ verdict: "pass", threshold_bytes: expect.any(Number) });
    expect(judgedGrowth(-(2 ** 25))).toMatchObject({ verdict: "pass" });
  });

  it("a run that grows fails", () => {
    expect(judgedGrowth(2 ** 26)).toMatchObject({ verdict: "fail" });
  });
});

describe("growth where most runs of the baseline are too short for one", () => {
  const growthOf = (candidate: number, short: number, known: number) => {
    const { runs: whole, ...rest } = runs("before", 0, null, short + known);
    const baseline = {
      ...rest,
      runs: whole.map((run, i) =>
        i < known ? run : { ...run, series: run.series.map((one) => ({ ...one, growth_bytes: null })) },
      ),
    };
    return judge({
      candidate: runs("now", candidate, null, 1),
      baseline,
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: false,
    }).checks.find(({ aspect }) => aspect === "growth");
  };

  it.each([0, 2])("passes below the smallest growth that is judged, with %i known growths of five", (known) => {
    expect(growthOf(2 ** 20, 5 - known, known)).toMatchObject({ verdict: "pass", baseline_bytes: null });
  });

  it("a growth above the smallest judged growth is unjudged because the baseline's runs are too short", () => {
    const check = growthOf(2 ** 28, 3, 2);
    expect(check).toMatchObject({ verdict: "unjudged" });
    expect(check?.reason).toContain("its other runs are too short");
  });

  it("a growth is unjudged where the baseline has too few runs", () => {
    expect(growthOf(2 ** 20, 0, 2)).toMatchObject({ verdict: "unjudged" });
  });
});

describe("growth at a horizon", () => {
  it("fails 1,000 bytes a step, a gigabyte in a million steps", () => {
    expect(judged(0, 1000).checks.find(({ aspect }) => aspect === "growth")).toMatchObject({ verdict: "fail" });
  });

  it("fails too when the baseline was stored without its slope", () => {
    const growth = judged(null, 1000).checks.find(({ aspect }) => aspect === "growth");
    expect(growth).toMatchObject({ verdict: "fail", baseline_bytes: 0 });
    expect(growth?.reason).toContain("1000000 steps");
  });

  it("passes 100 bytes a step, 95 MiB at the horizon", () => {
    expect(judged(null, 100).verdict).toBe("pass");
  });
});
