import { describe, expect, it } from "vitest";
import type { MeasuredSeries, Measurements } from "../analysis/measurements.ts";
import { DEFAULT_POLICY } from "./defaults.ts";
import { judge } from "./judge.ts";

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
