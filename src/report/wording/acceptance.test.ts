import { describe, expect, it } from "vitest";
import { renderTerminal } from "../terminal/terminal.ts";
import { sampleReport, sampleScenario } from "../testing/sample-report.ts";

const OPTIONS = { color: false, width: 100 };
const accepted = {
  difference: "3f9a2c1d04be-dapb187",
  by: "ann",
  reason: "larger\u001b[31m cache",
  via: "comment",
  at_iso: null,
  head_sha: null,
  url: null,
} as const;
const change = (n: number) => ({ path: `policy.p${n}`, base: "1GiB", head: null });

describe("the terminal's report", () => {
  it("names who accepted a scenario, escaped", () => {
    const report = sampleReport("warn", { scenarios: [sampleScenario("warn", { accepted })] });
    const text = renderTerminal(report, OPTIONS);
    expect(text).toContain("Accepted by ann (comment): larger\\x1b[31m cache");
    expect(renderTerminal(sampleReport("fail"), OPTIONS)).not.toContain("Accepted");
  });

  it("lists the changes to the gate's own settings, and that they are not in force", () => {
    const policy_changes = Array.from({ length: 11 }, (_, n) => change(n));
    const text = renderTerminal(sampleReport("warn", { policy_changes }), OPTIONS);
    expect(text).toContain("Those of the base commit are in force");
    expect(text).toContain("policy.p0: 1GiB → not set");
    expect(text).toContain("and 3 more in the bundle");
  });

  it("names who accepted changed settings", () => {
    const policy = { policy_changes: [change(1)], policy_accepted: accepted };
    expect(renderTerminal(sampleReport("pass", policy), OPTIONS)).toContain("the gate's own settings, accepted by ann");
  });
});
