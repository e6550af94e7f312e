import { describe, expect, it } from "vitest";
import { sampleScenario, sampleTimeline } from "../report/testing/sample-report.ts";
import { withBoundedTimelines } from "./merge-report.ts";

describe("timelines of many legs", () => {
  const scenarios = [
    sampleScenario("pass", { scenario: "a" }),
    sampleScenario("fail", { scenario: "b", timeline: sampleTimeline() }),
    sampleScenario("warn", { scenario: "c" }),
  ];
  const kept = (most?: number) =>
    withBoundedTimelines(scenarios, most).flatMap(({ scenario, timeline }) => (timeline === null ? [] : [scenario]));

  it("timelines of many legs are all kept while they are small", () => {
    expect(kept()).toEqual(["a", "b", "c"]);
  });

  it("timelines of many legs are dropped from the mildest verdict on where they exceed the limit", () => {
    const each = 2 * 2 * 800;
    expect(kept(2 * each)).toEqual(["b", "c"]);
    expect(kept(each)).toEqual(["b"]);
    expect(kept(0)).toEqual([]);
  });

  it("timelines of many legs are dropped without changing the order of the scenarios", () => {
    expect(withBoundedTimelines(scenarios, 0).map(({ scenario }) => scenario)).toEqual(["a", "b", "c"]);
  });
});
