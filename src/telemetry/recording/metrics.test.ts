import { describe, expect, it } from "vitest";
import { METRIC, METRICS, metricLabel, metricNoun } from "./metrics.ts";

describe("the table of metrics", () => {
  it("gives each metric a letter of its own, so that acceptances cannot be confused", () => {
    const letters = METRICS.map((metric) => METRIC[metric].letter);
    expect(new Set(letters).size).toBe(METRICS.length);
    expect(letters.every((letter) => /^[a-z]$/.test(letter))).toBe(true);
  });

  it("names metrics without identifiers", () => {
    for (const metric of METRICS) expect(`${metricLabel(metric)} ${metricNoun(metric)}`).not.toContain("_");
    expect(metricNoun("js_heap")).toBe("JavaScript heap");
    expect(metricNoun("host")).toBe("host memory");
  });

  it("leaves a metric of a later version under its own name", () => {
    expect(metricLabel("gpu_stack")).toBe("gpu_stack");
    expect(metricLabel("constructor")).toBe("constructor");
  });
});
