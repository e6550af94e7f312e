import { describe, expect, it } from "vitest";
import type { Finding } from "../../analysis/series/document.ts";
import { SAMPLE_FINDING, sampleCheck, sampleJudgement, sampleScenario } from "../testing/sample-report.ts";
import { openFindings, withExplanations } from "./causes.ts";
import { answerSentence } from "./sentence.ts";

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

describe("a run that ran out of memory", () => {
  const check = sampleCheck({
    aspect: "oom",
    gating: true,
    verdict: "fail",
    reason: "ran out of memory in 1 of 1 run",
  });
  const ranOut = (evidence: Finding["evidence"]) => {
    const oom = { ...finding("oom", "Reduce the peak."), severity: "critical" as const, evidence };
    const judgement = sampleJudgement("fail", { checks: [check] });
    return withExplanations(sampleScenario("fail", { judgement, findings: [oom] }));
  };
  const line = `${"deep/".repeat(12)}train.py:178`;

  it("names the line and what it asked for in its sentence, and nowhere else on the first screen", () => {
    const known = ranOut({ line, requested_bytes: 2 ** 21, allocated_bytes: 372 * 2 ** 20 });
    expect(answerSentence(known)).toBe(
      "Ran out of memory in 1 of 1 run: train.py:178 asked for 2.00 MiB beside 372 MiB",
    );
    expect(openFindings(known)).toEqual([]);
    expect(answerSentence(ranOut({ line: "a/b.py:3", requested_bytes: 2 ** 21 }))).toMatch(
      /: a\/b\.py:3 asked .* MiB$/,
    );
    expect(answerSentence(ranOut({ line: "a/b.py:3" }))).toMatch(/: a\/b\.py:3 asked for memory$/);
  });

  it("keeps its finding where the line is not known", () => {
    for (const evidence of [{ requested_bytes: 2 ** 21 }, {}]) {
      expect(openFindings(ranOut(evidence))).toHaveLength(1);
      expect(answerSentence(ranOut(evidence))).not.toContain("asked");
    }
  });
});

describe("a finding that a failed check explains", () => {
  it("keeps its remedy where no line is known", () => {
    expect(remediesOf(LEAK)).toEqual([[true, "Run once with attribution on."]]);
  });

  it("leaves the remedy to the line that was found", () => {
    expect(remediesOf(LEAK, LINE)).toEqual([[true], [true, "Empty the list."]]);
  });
});
