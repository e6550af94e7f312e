import { describe, expect, it } from "vitest";
import {
  sampleAnalysis,
  sampleCheck,
  sampleJudgement,
  sampleReport,
  sampleScenario,
  sampleSeriesAnalysis,
} from "../report/testing/sample-report.ts";
import { errorOutputs, outputsOf, worstGatingSeries } from "./outputs.ts";

const PUBLISHED = {
  bundlePath: "/b",
  reportPath: "/b/report.json",
  artifactId: 500,
  artifactUrl: "https://x/500",
  timelineUrl: null,
  commentUrl: null,
};

describe("outputs", () => {
  it("outputs describe the series of the worst gating check", () => {
    const report = sampleReport("fail");
    const series = worstGatingSeries(report);
    expect(series).toMatchObject({ metric: "allocated", device: "cuda:0" });
    expect(outputsOf(report, PUBLISHED)).toMatchObject({
      verdict: "fail",
      "exit-code": "4",
      confirmed: "true",
      "peak-bytes": String(series?.peak_bytes),
      class: series?.class,
      "artifact-id": "500",
      "timeline-url": "",
    });
  });

  it("outputs prefer a failed check to one that is only nearer to its limit", () => {
    const checks = [
      sampleCheck({ metric: "reserved", verdict: "pass", candidate_bytes: 99, threshold_bytes: 100 }),
      sampleCheck({ metric: "allocated", verdict: "fail", candidate_bytes: 5, threshold_bytes: 10 }),
    ];
    const scenario = sampleScenario("fail", { judgement: sampleJudgement("fail", { checks }) });
    expect(worstGatingSeries(sampleReport("fail", { scenarios: [scenario] }))?.metric).toBe("allocated");
  });

  it("outputs state no size where a number of descriptors decides", () => {
    const checks = [sampleCheck({ device: "host", metric: "descriptors", verdict: "fail" })];
    const analysis = sampleAnalysis({
      series: [sampleSeriesAnalysis({ device: "host", metric: "descriptors", peak_bytes: 401, class: "leak" })],
    });
    const { runs, ...scenario } = sampleScenario("fail", { judgement: sampleJudgement("fail", { checks }) });
    const scenarios = [{ ...scenario, runs: runs.map((run) => ({ ...run, analysis })) }];
    expect(outputsOf(sampleReport("fail", { scenarios }))).toMatchObject({
      class: "leak",
      "peak-bytes": "",
      "slope-bytes-per-s": "",
    });
  });

  it("outputs leave out checks that only explain", () => {
    const checks = [sampleCheck({ metric: "reserved", gating: false, verdict: "warn" }), sampleCheck()];
    const scenario = sampleScenario("warn", { judgement: sampleJudgement("warn", { checks }) });
    expect(worstGatingSeries(sampleReport("warn", { scenarios: [scenario] }))?.metric).toBe("allocated");
  });

  it("outputs are empty, never 0, where nothing is known", () => {
    const outputs = outputsOf(sampleReport("error"), { ...PUBLISHED, artifactId: null, artifactUrl: null });
    expect(outputs).toMatchObject({ verdict: "error", class: "", "peak-bytes": "", "slope-bytes-per-s": "" });
    expect(outputs).toMatchObject({ "artifact-id": "", "artifact-url": "" });
  });

  it("outputs hold every check as JSON", () => {
    const [scenario] = JSON.parse(outputsOf(sampleReport("fail"), PUBLISHED).results);
    expect(scenario).toMatchObject({ scenario: "train-mlp", verdict: "fail", error: null });
    expect(scenario.checks[0]).toMatchObject({ aspect: "peak", limit: "baseline", verdict: "fail" });
  });

  it("outputs stay below the runner's limit, and are marked when they were cut", () => {
    const checks = Array.from({ length: 5000 }, (_, rank) => sampleCheck({ rank }));
    const scenario = sampleScenario("pass", { judgement: sampleJudgement("pass", { checks }) });
    const { results } = outputsOf(sampleReport("pass", { scenarios: [scenario] }), PUBLISHED);
    expect(results.length).toBeLessThan(500_000);
    expect(JSON.parse(results)[0]).toMatchObject({ truncated: true });
  });

  it("outputs have the same names when the gate could not work", () => {
    expect(Object.keys(errorOutputs(2, PUBLISHED)).sort()).toEqual(
      Object.keys(outputsOf(sampleReport(), PUBLISHED)).sort(),
    );
  });
});
