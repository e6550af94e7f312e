import { describe, expect, it } from "vitest";
import { renderSummary } from "../markdown/summary-markdown.ts";
import { renderJudgementTerminal, renderTerminal } from "../terminal/terminal.ts";
import { sampleJudgement, sampleReport, sampleScenario, sampleTimeline } from "../testing/sample-report.ts";
import { renderTimelineHtml } from "../timeline/timeline-html.ts";
import { renderTimelineSvg } from "../timeline/timeline-svg.ts";

describe("a fail that could not be confirmed", () => {
  it("a fail that could not be confirmed is reported as unconfirmed, with what confirming it needs", () => {
    const checks = sampleJudgement("fail").checks.map((check) => ({ ...check, confirmed: false }));
    const judgement = sampleJudgement("fail", { confirmed: false, checks });
    const text = renderJudgementTerminal(judgement, { color: false, width: 100 });
    expect(text).toContain("Unconfirmed: confirming this needs more runs, or a run of the base commit");
    const summary = renderSummary(
      sampleReport("fail", { confirmed: false, scenarios: [sampleScenario("fail", { judgement })] }),
    );
    expect(summary).toContain("**Unconfirmed.**");
  });

  it("a confirmed fail is not reported as unconfirmed", () => {
    const text = renderJudgementTerminal(sampleJudgement("fail", { confirmed: true }), { color: false, width: 100 });
    expect(text).not.toContain("Unconfirmed");
  });
});

describe("the run that a report shows", () => {
  const outputs = (timeline: ReturnType<typeof sampleTimeline>): Readonly<Record<string, string>> => {
    const report = sampleReport("fail", { scenarios: [sampleScenario("fail", { timeline })] });
    return {
      terminal: renderTerminal(report, { color: false, width: 120, verbose: true }),
      summary: renderSummary(report),
      page: renderTimelineHtml(report),
      picture: renderTimelineSvg(timeline),
    };
  };

  it.each(["terminal", "summary", "page", "picture"])(
    "the displayed run is named where there were several: %s",
    (output) => {
      expect(outputs(sampleTimeline({ run: { number: 3, of: 5 } }))[output]).toContain("run 3 of 5");
    },
  );

  it.each(["terminal", "summary", "page", "picture"])(
    "the displayed run is not named where there was one: %s",
    (output) => {
      expect(outputs(sampleTimeline({ run: { number: 1, of: 1 } }))[output]).not.toContain("run 1 of 1");
      expect(outputs(sampleTimeline())[output]).not.toMatch(/run \d+ of \d+/);
    },
  );
});
