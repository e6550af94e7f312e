import { describe, expect, it } from "vitest";
import type { Projection } from "../../analysis/series/document.ts";
import { sampleAnalysis } from "../testing/sample-report.ts";
import { cyclesText, projectionText } from "./cycle-text.ts";

const H = 3600;
const of = (changes: Partial<Projection>) =>
  projectionText({
    rate: 50.2,
    limit_bytes: 2 * 2 ** 30,
    limit_of: "container",
    seconds: 31 * H,
    interval: [27 * H, 36 * H],
    ...changes,
  });

describe("the sentence on when a service is out of memory", () => {
  it("a projection names rate, time, interval and limit", () => {
    expect(of({})).toBe(
      "at 50 requests a second it is out of memory in 31 h (27 to 36), at the 2.00 GiB of its container",
    );
    expect(of({ limit_of: "-Xmx" })).toMatch(/ in 31 h \(27 to 36\), at -Xmx \(2\.00 GiB\)$/);
  });

  it("a projection of the collector of Go does not claim that the program ends", () => {
    expect(of({ limit_of: "GOMEMLIMIT", rate: null })).toBe(
      "under this load it reaches GOMEMLIMIT (2.00 GiB) in 31 h (27 to 36)",
    );
  });

  it("a projection has one unit, and nothing is said about next year", () => {
    expect(of({ seconds: 90, interval: [85, 96] })).toContain("in 1.5 min (1.4 to 1.6),");
    expect(of({ seconds: 80 * 24 * H, interval: [75.6 * 24 * H, 85 * 24 * H] })).toContain("in 80 days (76 to 85),");
    expect(of({ seconds: 400 * 24 * H })).toBeNull();
  });
});

describe("the line on what a cycle leaves", () => {
  it("a cycle leaves what is known, each with its interval", () => {
    const analysis = sampleAnalysis({
      cycles: [{ requests: 2000, load_s: 4, bytes: null }],
      per_cycle: {
        bytes: { left: 2 ** 24, interval: [2 ** 23, 2 ** 25] },
        threads: { left: 0, interval: [-0.4, 0.4] },
        descriptors: { left: 19.96, interval: [19.5, 20.4] },
      },
    });
    expect(cyclesText(analysis)).toBe(
      "A cycle of 2,000 requests leaves 16.0 MiB (8.00 MiB to 32.0 MiB) of host memory, 20 (19.5 to 20.4) descriptors, 0 threads.",
    );
  });

  it("a command has no cycles", () => {
    expect(cyclesText(sampleAnalysis())).toBeNull();
    expect(cyclesText(null)).toBeNull();
  });
});
