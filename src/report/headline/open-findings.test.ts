import { describe, expect, it } from "vitest";
import type { Finding } from "../../analysis/series/document.ts";
import { SAMPLE_FINDING, sampleCheck, sampleJudgement, sampleScenario } from "../testing/sample-report.ts";
import { withExplanations } from "./causes.ts";

const finding = (classification: string, remedy: string): Finding => ({
  ...SAMPLE_FINDING,
  classification,
  remediation: [remedy],
});
const LEAK = finding("leak", "Run once with attribution on.");
const LINE = finding("leak_line", "Empty the list.");

function remediesOf(...findings: readonly Finding[]) {
  const check = sampleCheck({ aspect: "class", gating: true, verdict: "fail", candidate_class: "leak" });
  const judgement = sampleJudgement("fail", { checks: [check] });
  const explained = withExplanations({ ...sampleScenario("fail", { judgement, findings }) });
  return explained.findings.map(({ explained_by, remediation }) => [explained_by !== undefined, ...remediation]);
}

describe("a finding that a failed check explains", () => {
  it("keeps its remedy where no line is known", () => {
    expect(remediesOf(LEAK)).toEqual([[true, "Run once with attribution on."]]);
  });

  it("leaves the remedy to the line that was found", () => {
    expect(remediesOf(LEAK, LINE)).toEqual([[true], [true, "Empty the list."]]);
  });
});
