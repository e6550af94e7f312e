import { describe, expect, it } from "vitest";
import { MIB } from "../../core/units.ts";
import {
  sampleAnalysis,
  sampleCheck,
  sampleJudgement,
  sampleScenario,
  sampleSeriesAnalysis,
} from "../testing/sample-report.ts";
import { answerSentence } from "./sentence.ts";

const KEY = { rank: 0, device: "cuda:0", metric: "allocated" } as const;

function sentenceOf(classes: readonly ("leak" | "flat")[]): string {
  const base = sampleScenario("fail");
  const [run] = base.runs;
  if (run === undefined) throw new Error("the sample has a run");
  const runs = classes.map((label) => ({
    ...run,
    analysis: sampleAnalysis({
      series: [sampleSeriesAnalysis({ ...KEY, class: label, growth_bytes: label === "leak" ? 90 * MIB : 0 })],
    }),
  }));
  const check = sampleCheck({
    ...KEY,
    aspect: "class",
    gating: true,
    verdict: "fail",
    confirmed: true,
    candidate_class: "leak",
    candidate_bytes: 90 * MIB,
    threshold_bytes: null,
    mde_bytes: null,
  });
  const judgement = sampleJudgement("fail", { checks: [check], confirmed: true });
  return answerSentence(sampleScenario("fail", { runs, judgement, findings: [] }));
}

describe("the sentence of a leak", () => {
  it("counts the runs that showed it, not those that were made", () => {
    expect(sentenceOf(["leak", "flat", "leak"])).toMatch(/^Leak of .*, confirmed in 2 of 3 runs$/);
    expect(sentenceOf(["leak", "leak"])).toMatch(/, confirmed in 2 of 2 runs$/);
    expect(sentenceOf(["leak"])).toMatch(/, confirmed$/);
  });
});
