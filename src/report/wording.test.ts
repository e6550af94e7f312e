import { describe, expect, it } from "vitest";
import { renderSummary } from "./markdown/summary-markdown.ts";
import { renderJudgementTerminal } from "./terminal/terminal.ts";
import { sampleJudgement, sampleReport, sampleScenario } from "./testing/sample-report.ts";

describe("a fail that could not be confirmed", () => {
  it("is reported as unconfirmed, with what confirming it needs", () => {
    const judgement = sampleJudgement("fail", { confirmed: false });
    const text = renderJudgementTerminal(judgement, { color: false, width: 100 });
    expect(text).toContain("Unconfirmed: confirming this needs more runs, or a run of the base commit");
    const summary = renderSummary(
      sampleReport("fail", { confirmed: false, scenarios: [sampleScenario("fail", { judgement })] }),
    );
    expect(summary).toContain("**Unconfirmed.**");
  });

  it("is not reported for a confirmed one", () => {
    const text = renderJudgementTerminal(sampleJudgement("fail", { confirmed: true }), { color: false, width: 100 });
    expect(text).not.toContain("Unconfirmed");
  });
});
