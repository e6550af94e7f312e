import { describe, expect, it } from "vitest";
import { MIB } from "../core/units.ts";
import { renderSummary } from "./markdown/summary-markdown.ts";
import { renderJudgementTerminal } from "./terminal/terminal.ts";
import { sampleCheck, sampleJudgement, sampleReport } from "./testing/sample-report.ts";
import { sensitivity } from "./wording.ts";

describe("the smallest detectable change of a run", () => {
  it("is that of the least sensitive gating check, without the anchor's margin", () => {
    const checks = [
      sampleCheck({ aspect: "peak", limit: "baseline", gating: true, mde_bytes: 5 * MIB }),
      sampleCheck({ aspect: "peak", limit: "baseline", gating: true, mde_bytes: 7 * MIB, rank: 1 }),
      sampleCheck({ aspect: "peak", limit: "baseline", gating: false, mde_bytes: 20 * MIB }),
      sampleCheck({ aspect: "peak", limit: "anchor", gating: true, mde_bytes: 48 * MIB }),
    ];
    expect(sensitivity(sampleJudgement("pass", { checks }))).toBe("a peak 7.00 MiB higher");
  });

  it("is null where no check has one", () => {
    const checks = [sampleCheck({ aspect: "peak", limit: "budget", gating: true, mde_bytes: null })];
    expect(sensitivity(sampleJudgement("pass", { checks }))).toBeNull();
  });
});

describe("a fail that could not be confirmed", () => {
  it("is reported as unconfirmed, with what confirming it needs", () => {
    const judgement = sampleJudgement("fail", { confirmed: false });
    const text = renderJudgementTerminal(judgement, { color: false, width: 100 });
    expect(text).toContain("Unconfirmed: confirming this needs more runs, or a run of the base commit");
    const summary = renderSummary(sampleReport("fail", { confirmed: false }));
    expect(summary.split("\n")[0]).toBe("## ❌ Memory gate: fail, unconfirmed · train-mlp");
  });

  it("is not reported for a confirmed one", () => {
    const text = renderJudgementTerminal(sampleJudgement("fail", { confirmed: true }), { color: false, width: 100 });
    expect(text).not.toContain("Unconfirmed");
  });
});
