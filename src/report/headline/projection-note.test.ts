import { expect, it } from "vitest";
import {
  sampleAnalysis,
  sampleCheck,
  sampleJudgement,
  sampleScenario,
  sampleSeriesAnalysis,
} from "../testing/sample-report.ts";
import { sideNotes } from "./sentence.ts";

const KEY = { rank: 0, device: "host", metric: "host" } as const;
const PROJECTION = {
  rate: 50,
  limit_bytes: 2 ** 31,
  limit_of: "container",
  seconds: 7200,
  interval: [7000, 7400],
} as const;

it.each([
  ["class", "fail", true],
  ["class", "warn", false],
  ["peak", "fail", false],
] as const)("a %s that decides for %s has a note on when memory is full: %s", (aspect, verdict, isShown) => {
  const [run] = sampleScenario("fail").runs;
  if (run === undefined) throw new Error("the sample has a run");
  const series = [sampleSeriesAnalysis({ ...KEY, class: "leak" })];
  const check = sampleCheck({ ...KEY, aspect, gating: true, verdict, candidate_class: "leak" });
  const scenario = sampleScenario(verdict, {
    runs: [{ ...run, analysis: sampleAnalysis({ series, projection: PROJECTION }) }],
    judgement: sampleJudgement(verdict, { checks: [check] }),
  });
  expect(
    sideNotes(scenario).some((note) => note.startsWith("at 50 requests a second it is out of memory in 2 h")),
  ).toBe(isShown);
});
