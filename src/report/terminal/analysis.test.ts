import { describe, expect, it } from "vitest";
import { sampleAnalysis, sampleSeriesAnalysis } from "../testing/sample-report.ts";
import { renderAnalysisTerminal } from "./analysis.ts";

const PLAIN = { color: false, width: 100 };

describe("renderAnalysisTerminal", () => {
  it("prints one row per series with class, peak, growth and slope, and the findings", () => {
    const text = renderAnalysisTerminal(sampleAnalysis(), PLAIN);
    expect(text).toMatch(/cuda:0 allocated +leak +1\.88 GiB +\+451\.00 MiB +\+226\.00 KiB\/step/);
    expect(text).toContain("losses.append");
    expect(text).toContain("MEMORY CREEP");
  });

  it("prints a dash for what is unknown, never 0", () => {
    const unknown = sampleSeriesAnalysis({
      class: "unavailable",
      peak_bytes: null,
      growth_bytes: null,
      slope_bytes_per_s: null,
      slope_bytes_per_step: null,
      mde_bytes: null,
      steps_to_oom: null,
      seconds_to_oom: null,
    });
    const row = renderAnalysisTerminal(sampleAnalysis({ series: [unknown], findings: [] }), PLAIN).split("\n")[1]!;
    expect(row).toMatch(/unavailable( +–){5}$/);
  });

  it("reports an input without memory series", () => {
    expect(renderAnalysisTerminal(sampleAnalysis({ series: [], findings: [], diagnosis: [] }), PLAIN)).toContain(
      "No memory series",
    );
  });
});
