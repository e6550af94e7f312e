import { describe, expect, it } from "vitest";
import { SAMPLE_FINDING, sampleJudgement, sampleReport, sampleScenario } from "../testing/sample-report.ts";
import { renderJudgementTerminal, renderTerminal } from "./terminal.ts";
import { displayWidth } from "./terminal-table.ts";

const PLAIN = { color: false, width: 100 };

describe("renderTerminal", () => {
  it("starts with the verdict and ends with the next steps", () => {
    const lines = renderTerminal(sampleReport("fail"), PLAIN).split("\n");
    expect(lines[0]).toBe("✗ FAIL  train-mlp");
    expect(lines.some((line) => /✗ allocated growth +451\.00 MiB +96\.00 KiB +12\.00 MiB +9\.50 MiB/.test(line))).toBe(
      true,
    );
    expect(lines.some((line) => /^ {2}▁.*█$/.test(line))).toBe(true);
    expect(lines.at(-1)).toBe("      stormlog-gate baseline accept");
  });

  it("prints the worst scenario last and the overall verdict below it", () => {
    const scenarios = [sampleScenario("fail", { scenario: "bad" }), sampleScenario("pass", { scenario: "good" })];
    const text = renderTerminal(sampleReport("fail", { scenarios }), PLAIN);
    expect(text.indexOf("good")).toBeLessThan(text.indexOf("bad"));
    expect(text.split("\n").at(-1)).toContain("✗ FAIL  2 scenarios");
  });

  it("uses colour only when asked to, independent of stdout", () => {
    expect(renderTerminal(sampleReport("fail"), PLAIN)).not.toContain("\u001b");
    expect(renderTerminal(sampleReport("fail"), { color: true, width: 100 })).toContain("\u001b[31m");
  });

  it.each(["pass", "warn", "fail", "unjudged", "error"] as const)(
    "keeps the lines of %s within the window",
    (verdict) => {
      for (const width of [60, 80, 120]) {
        const tooLong = renderTerminal(sampleReport(verdict), { color: false, width })
          .split("\n")
          .filter((line) => displayWidth(line) > Math.max(width, 76));
        expect(tooLong).toEqual([]);
      }
    },
  );

  it("escapes control sequences of outside text", () => {
    const evil = "\u001b]0;pwned\u0007\u001b[2J\u202e\r\n";
    const scenario = sampleScenario("error", {
      scenario: evil,
      error: { code: evil, message: evil, hint: evil, output_tail: `a${evil}\tb` },
      findings: [{ ...SAMPLE_FINDING, description: evil, device: evil, remediation: [evil] }],
    });
    const text = renderTerminal(sampleReport("error", { scenarios: [scenario], warnings: [evil] }), PLAIN);
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    expect(text).toContain("\\x1b]0;pwned\\x07");
  });

  it("prints equal notes once, with a count", () => {
    const text = renderTerminal(sampleReport("pass", { warnings: ["no swap", "slow disk", "no swap"] }), PLAIN);
    expect(text.match(/note: .*/g)).toEqual(["note: no swap (2 times)", "note: slow disk"]);
  });

  it("lists the runs that an unfinished judgement needs", () => {
    const judgement = sampleJudgement("unjudged", { next: { kind: "candidate-runs", runs: 2, baseRuns: 1 } });
    expect(renderJudgementTerminal(judgement, PLAIN)).toContain(
      "Not final: needs 2 more candidate runs and 1 run of the base commit.",
    );
  });
});
