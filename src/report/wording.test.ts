import { describe, expect, it } from "vitest";
import { MIB } from "../core/units.ts";
import { renderSummary } from "./markdown/summary-markdown.ts";
import { renderJudgementTerminal } from "./terminal/terminal.ts";
import { sampleCheck, sampleJudgement, sampleReport } from "./testing/sample-report.ts";
import { sensitivity } from "./wording.ts";

describe("what a run would have noticed", () => {
  it("is the least sensitive gating check against the baseline, not the anchor's margin", () => {
    const checks = [
      sampleCheck({ aspect: "peak", limit: "baseline", gating: true, mde_bytes: 5 * MIB }),
      sampleCheck({ aspect: "peak", limit: "baseline", gating: true, mde_bytes: 7 * MIB, rank: 1 }),
      sampleCheck({ aspect: "peak", limit: "baseline", gating: false, mde_bytes: 20 * MIB }),
      sampleCheck({ aspect: "peak", limit: "anchor", gating: true, mde_bytes: 48 * MIB }),
    ];
    expect(sensitivity(sampleJudgement("pass", { checks }))).toBe("a peak 7.00 MiB higher");
  });

  it("is nothing where no check can say", () => {
    const checks = [sampleCheck({ aspect: "peak", limit: "budget", gating: true, mde_bytes: null })];
    expect(sensitivity(sampleJudgement("pass", { checks }))).toBeNull();
  });
});

describe("a fail that could not be confirmed", () => {
  it("is told as such, and not as one that was never repeated", () => {
    const judgement = sampleJudgement("fail", { confirmed: false });
    const text = renderJudgementTerminal(judgement, { color: false, width: 100 });
    expect(text).toContain("Not confirmed: it wants more runs, or the base commit in this session");
    const summary = renderSummary(sampleReport("fail", { confirmed: false }));
    expect(summary.split("\n")[0]).toBe("## ❌ Memory gate: fail, unconfirmed · train-mlp");
  });

  it("is not told of a confirmed one", () => {
    const text = renderJudgementTerminal(sampleJudgement("fail", { confirmed: true }), { color: false, width: 100 });
    expect(text).not.toContain("Not confirmed");
  });
});
