import { describe, expect, it } from "vitest";
import { MIB } from "../../core/units.ts";
import {
  sampleAnalysis,
  sampleCheck,
  sampleJudgement,
  sampleScenario,
  sampleSeriesAnalysis,
} from "../testing/sample-report.ts";
import { detectable } from "./detectable.ts";

const scenario = (...checks: Parameters<typeof sampleCheck>[0][]) =>
  sampleScenario("pass", {
    runs: [],
    judgement: sampleJudgement("pass", { checks: checks.map((parts) => sampleCheck({ gating: true, ...parts })) }),
  });

describe("the smallest detectable change of a run", () => {
  it("the detectable change is that of the least sensitive gating check, without the anchor's margin", () => {
    const found = detectable(
      scenario(
        { mde_bytes: 5 * MIB },
        { mde_bytes: 7 * MIB, rank: 1 },
        { gating: false, mde_bytes: 20 * MIB },
        { limit: "anchor", mde_bytes: 48 * MIB },
      ),
    );
    expect(found).toBe("+7.00 MiB at the peak");
  });

  it("the detectable change of a service is what a request leaves, unless a baseline decides", () => {
    const analysis = sampleAnalysis({
      series: [
        sampleSeriesAnalysis({ device: "host", metric: "host", mde_bytes: 8 * MIB, mde_bytes_per_request: 524.3 }),
      ],
    });
    const [run] = sampleScenario("pass").runs;
    const served = sampleScenario("pass", {
      runs: [{ ...run!, analysis }],
      judgement: sampleJudgement("pass", { checks: [] }),
    });
    expect(detectable(served)).toBe("524 B a request");
  });

  it("the detectable change is null where no check has one", () => {
    expect(detectable(scenario({ limit: "budget", mde_bytes: null }))).toBeNull();
  });
});
