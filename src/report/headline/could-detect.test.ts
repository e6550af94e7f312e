import { describe, expect, it } from "vitest";
import {
  sampleAnalysis,
  sampleCheck,
  sampleJudgement,
  sampleScenario,
  sampleSeriesAnalysis,
} from "../testing/sample-report.ts";
import { couldDetect } from "./detectable.ts";
import { answerSentence } from "./sentence.ts";

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
      perRequest: null,
      peak: null,
    });
  });

  it("a run with a baseline could detect what its checks could detect", () => {
    const checks = [
      { aspect: "peak", verdict: "pass", mde_bytes: 2_000_000 },
      { aspect: "growth", verdict: "pass", mde_bytes: 9_000_000 },
    ] as const;
    expect(detected([...checks], 8_000_000)).toEqual({ growth: 9_000_000, perRequest: null, peak: 2_000_000 });
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
      perRequest: null,
      peak: null,
    });
  });

  it.each([
    { case: "of a family", other: 20_000_000, metric: "host", growth: 17_000_000 },
    { case: "beside a small helper", other: 800_000, metric: "allocated", growth: 3_000_000 },
  ])("the detectable growth $case is that of $metric memory", ({ other, metric, growth }) => {
    const role = { program: "job.py", rank: 0, pids: 1, growth_bytes: 0, share: null, window_s: 9 };
    const host = { rank: 0, device: "host" } as const;
    const analysis = sampleAnalysis({
      processes: [
        { ...role, role: "the main process of job.py", peak_bytes: 40_000_000 },
        { ...role, role: "the child process of job.py", peak_bytes: other },
      ],
      series: [
        sampleSeriesAnalysis({ ...host, metric: "host", peak_bytes: 60_000_000, mde_bytes: 17_000_000 }),
        sampleSeriesAnalysis({ ...host, metric: "allocated", peak_bytes: 3_000_000, mde_bytes: 3_000_000 }),
      ],
    });
    const base = sampleScenario("unjudged");
    const judgement = sampleJudgement("unjudged", { checks: [] });
    const scenario = sampleScenario("unjudged", { runs: base.runs.map((run) => ({ ...run, analysis })), judgement });
    expect(couldDetect(scenario).growth).toBe(growth);
    expect(answerSentence(scenario).toLowerCase()).toContain(`${metric} peak`);
  });
});
