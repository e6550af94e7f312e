import { describe, expect, it } from "vitest";
import { sampleScenario, sampleTimeline } from "../testing/sample-report.ts";
import { withBoundedTimelines } from "./merged-timelines.ts";

describe("timelines of many legs", () => {
  const scenarios = [
    sampleScenario("pass", { scenario: "a" }),
    sampleScenario("fail", { scenario: "b", timeline: sampleTimeline() }),
    sampleScenario("warn", { scenario: "c" }),
  ];
  const kept = (most?: number) =>
    withBoundedTimelines(scenarios, most).flatMap(({ scenario, timeline }) => (timeline === null ? [] : [scenario]));

  it("are all kept while they are few", () => {
    expect(kept()).toEqual(["a", "b", "c"]);
  });

  it("go from the mildest verdict on where they are too many", () => {
    const each = 2 * 2 * 800;
    expect(kept(2 * each)).toEqual(["b", "c"]);
    expect(kept(each)).toEqual(["b"]);
    expect(kept(0)).toEqual([]);
  });

  it("leave the order of the scenarios alone", () => {
    expect(withBoundedTimelines(scenarios, 0).map(({ scenario }) => scenario)).toEqual(["a", "b", "c"]);
  });
});
