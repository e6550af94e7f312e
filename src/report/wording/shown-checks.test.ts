import { describe, expect, it } from "vitest";
import { renderSummary } from "../markdown/summary-markdown.ts";
import { renderTerminal } from "../terminal/terminal.ts";
import { sampleCheck, sampleJudgement, sampleReport } from "../testing/sample-report.ts";
import { moreText, shownChecks } from "./wording.ts";

const ranks = Array.from({ length: 1024 }, (_, rank) =>
  sampleCheck({
    rank,
    aspect: "peak",
    limit: "budget",
    metric: "allocated",
    gating: true,
    verdict: rank === 700 ? "fail" : "pass",
    candidate_bytes: rank === 700 ? 50e9 : 1e9 + rank,
    threshold_bytes: 40e9,
    reason: `rank ${rank}`,
  }),
);

describe("checks of many ranks", () => {
  it("checks of many ranks are all shown up to the maximum", () => {
    const few = ranks.slice(0, 10);
    expect(shownChecks(few, 16)).toEqual({ rows: few.map((check) => ({ check, more: 0 })), hidden: 0 });
  });

  it("checks of many ranks are reduced to the worst ranks and the number of similar ones", () => {
    const { rows, hidden } = shownChecks(ranks, 16);
    expect(rows.map(({ check, more }) => [check.rank, more])).toEqual([
      [700, 0],
      [1023, 0],
      [1022, 0],
      [1021, 0],
      [1020, 1019],
    ]);
    expect(hidden).toBe(0);
    expect([moreText(1), moreText(1019)]).toEqual(["and 1 more like it", "and 1,019 more like them"]);
  });

  it("always include the worst of many kinds", () => {
    const kinds = ["allocated", "reserved", "used", "host"] as const;
    const all = kinds.flatMap((metric) => ranks.slice(690, 710).map((check) => ({ ...check, metric })));
    const { rows, hidden } = shownChecks(all, 5);
    expect(rows.slice(0, 4).every(({ check }) => check.rank === 700 && check.verdict === "fail")).toBe(true);
    expect(rows.reduce((sum, { more }) => sum + more + 1, 0) + hidden).toBe(all.length);
  });

  it("stay short at a terminal and in the summary", () => {
    const report = sampleReport("fail");
    const judgement = { ...sampleJudgement("fail"), checks: ranks };
    const scenarios = report.scenarios.map((scenario) => ({ ...scenario, judgement }));
    const terminal = renderTerminal({ ...report, scenarios }, { color: false, width: 100, verbose: true });
    expect(terminal).toContain("and 1,019 more like them");
    expect(terminal.split("\n").length).toBeLessThan(60);
    const summary = renderSummary({ ...report, scenarios }, {});
    expect(summary).toContain("and 1,019 more like them");
    expect(summary.length).toBeLessThan(20_000);
  });
});
