import { describe, expect, it } from "vitest";
import { parseMeasurements } from "../../analysis/parse-measurements.ts";
import { sampleAnalysis, sampleReport, sampleScenario, sampleSeriesAnalysis } from "../testing/sample-report.ts";
import { measurementDocuments, stormlogReport } from "./envelope.ts";
import { parseStormlogReport } from "./parse-report.ts";

const DESCRIPTORS = sampleSeriesAnalysis({ device: "host", metric: "descriptors", peak_bytes: 401, growth_bytes: 293 });

function reportWithDescriptors() {
  const scenario = sampleScenario("fail");
  const analysis = sampleAnalysis({ series: [...sampleAnalysis().series, DESCRIPTORS] });
  return sampleReport("fail", {
    scenarios: [{ ...scenario, runs: scenario.runs.map((run) => ({ ...run, analysis })) }],
  });
}

describe("documents with a counted metric", () => {
  it("a report has the number in fields of its own, beside null bytes, and is read as it was", () => {
    const written = JSON.parse(JSON.stringify(stormlogReport(reportWithDescriptors())));
    const [run] = written.payload.scenarios[0].runs;
    expect(run.analysis.series.at(-1)).toMatchObject({
      metric: "descriptors",
      peak_bytes: null,
      growth_bytes: null,
      peak_count: 401,
      growth_count: 293,
    });
    expect(run.analysis.series[0]).not.toHaveProperty("peak_count");
    const read = parseStormlogReport(written, "report.json").report.scenarios[0]?.runs[0];
    expect(read?.analysis?.series.at(-1)).toEqual(DESCRIPTORS);
  });

  it("measurements have the number in fields of its own, and are read as they were", () => {
    const [document] = measurementDocuments(reportWithDescriptors());
    const written = JSON.parse(JSON.stringify(document?.content));
    const ofDescriptors = ({ metric }: { metric: string }) => metric === "descriptors";
    expect(written.runs[0].series.find(ofDescriptors)).toMatchObject({ peak_bytes: null, peak_count: 401 });
    const [read] = parseMeasurements(written, "measurements.json").runs;
    expect(read?.series.find(ofDescriptors)).toMatchObject({ peak_bytes: 401, growth_bytes: 293 });
    expect(read?.series.find(ofDescriptors)).not.toHaveProperty("peak_count");
  });
});
