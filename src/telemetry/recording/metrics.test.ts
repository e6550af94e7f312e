import { describe, expect, it } from "vitest";
import { formatSize, METRIC, METRICS, metricLabel, metricNoun } from "./metrics.ts";

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

  it("writes what is counted with its noun, and the sizes of all other metrics as bytes", () => {
    const texts = ([size, format]: readonly [number, "exact" | "delta" | "short"]) =>
      formatSize("threads", size, format);
    expect(
      (
        [
          [64, "delta"],
          [512.4, "exact"],
          [1, "short"],
          [0.2468, "short"],
          [-3, "delta"],
          [0, "delta"],
        ] as const
      ).map(texts),
    ).toEqual(["+64 threads", "512 threads", "1 thread", "0.247 threads", "-3 threads", "0 threads"]);
    expect(formatSize("host", 64, "delta")).toBe("+64 B");
    expect(formatSize("gpu_stack", 2 ** 20)).toBe("1.00 MiB");
  });

  it("leaves a metric of a later version under its own name", () => {
    expect(metricLabel("gpu_stack")).toBe("gpu_stack");
    expect(metricLabel("constructor")).toBe("constructor");
  });
});
