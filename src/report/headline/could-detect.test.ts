import { describe, expect, it } from "vitest";
import {
  sampleAnalysis,
  sampleCheck,
  sampleJudgement,
  sampleScenario,
  sampleSeriesAnalysis,
} from "../testing/sample-report.ts";
import { couldDetect } from "./detectable.ts";

const key = { rank: 0, device: "cuda:0", metric: "allocated" } as const;

function detected(checks: Parameters<typeof sampleCheck>[0][], mde: number | null) {
  const base = sampleScenario("unjudged");
  const analysis = sampleAnalysis({
    series: [
      sampleSeriesAnalysis({ ...key, mde_bytes: mde }),
      // Not gating, so of no interest.
      sampleSeriesAnalysis({ ...key, metric: "reserved", mde_bytes: 999 }),
    ],
  });
  const runs = base.runs.map((run) => ({ ...run, analysis }));
  const judgement = sampleJudgement("unjudged", {
    checks: checks.map((check) => sampleCheck({ ...key, limit: "baseline", gating: true, ...check })),
  });
  return couldDetect(sampleScenario("unjudged", { runs, judgement }));
}

describe("what a run could have detected", () => {
  it("a run without a baseline could detect the growth that its own noise allows, and no peak", () => {
    expect(detected([{ aspect: "peak", verdict: "unjudged", mde_bytes: null }], 8_000_000)).toEqual({
      growth: 8_000_000,
      peak: null,
    });
  });

  it("a run with a baseline could detect what its checks could detect", () => {
    const checks = [
      { aspect: "peak", verdict: "pass", mde_bytes: 2_000_000 },
      { aspect: "growth", verdict: "pass", mde_bytes: 9_000_000 },
    ] as const;
    expect(detected([...checks], 8_000_000)).toEqual({ growth: 9_000_000, peak: 2_000_000 });
  });

  it("a sentence about one series could detect what that series could", () => {
    const judgement = sampleJudgement("pass", {
      checks: [
        sampleCheck({ ...key, aspect: "peak", limit: "baseline", gating: true, mde_bytes: 2_000_000 }),
        sampleCheck({ ...key, rank: 1, aspect: "peak", limit: "baseline", gating: true, mde_bytes: 5_000_000 }),
      ],
    });
    const scenario = sampleScenario("pass", { judgement });
    expect(couldDetect(scenario).peak).toBe(5_000_000);
    expect(couldDetect(scenario, sampleCheck(key)).peak).toBe(2_000_000);
  });

  it("the detectable change is unknown for a run that was too short", () => {
    expect(detected([{ aspect: "peak", verdict: "unjudged", mde_bytes: null }], null)).toEqual({
      growth: null,
      peak: null,
    });
  });
});
