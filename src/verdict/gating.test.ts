import { describe, expect, it } from "vitest";
import type { MeasuredSeries, Measurements } from "../analysis/measurements.ts";
import { DEFAULT_POLICY } from "./defaults.ts";
import { gatingMetrics } from "./gating.ts";

const series = (metric: MeasuredSeries["metric"], device: string, peak: number | null = 1): MeasuredSeries => ({
  rank: 0,
  device,
  metric,
  peak_bytes: peak,
});

const measured = (...all: MeasuredSeries[]): Measurements => ({
  scenario: "s",
  fingerprint: null,
  runs: [{ session: "a", commit: null, series: all }],
});

describe("the metrics that gate", () => {
  it("are allocated alone where a device's allocator was counted", () => {
    const candidate = measured(series("host", "host"), series("allocated", "cuda:0"), series("used", "cuda:0"));
    expect([...gatingMetrics(DEFAULT_POLICY, candidate)]).toEqual(["allocated"]);
  });

  it("are allocated and host where only a heap on the host was counted", () => {
    const candidate = measured(series("host", "host"), series("allocated", "host"));
    expect([...gatingMetrics(DEFAULT_POLICY, candidate)]).toEqual(["allocated", "host"]);
  });

  it("include host when the device's counter never gave a value", () => {
    expect([...gatingMetrics(DEFAULT_POLICY, measured(series("allocated", "cuda:0", null)))]).toContain("host");
  });

  it("are those that the policy names, where it names any", () => {
    const policy = { ...DEFAULT_POLICY, gatingMetrics: ["used" as const] };
    expect([...gatingMetrics(policy, measured(series("allocated", "cuda:0")))]).toEqual(["used"]);
  });
});
