import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GIB } from "../core/units.ts";
import { renderMermaid } from "./markdown/mermaid.ts";
import { sparkline } from "./sparkline.ts";
import { renderAnalysisTerminal, renderJudgementTerminal, renderTerminal } from "./terminal/terminal.ts";
import { displayWidth } from "./terminal/terminal-table.ts";
import {
  SAMPLE_FINDING,
  sampleAnalysis,
  sampleJudgement,
  sampleReport,
  sampleScenario,
  sampleSeries,
  sampleSeriesAnalysis,
  sampleTimeline,
} from "./testing/sample-report.ts";

describe("sparkline", () => {
  it("has the asked width and shows the highest value of each stretch", () => {
    const values = new Float64Array(10_000).fill(1);
    values[5003] = 100;
    const line = sparkline(values, 20);
    expect([...line]).toHaveLength(20);
    expect([...line][10]).toBe("█");
    expect([...line].filter((letter) => letter !== "▁")).toHaveLength(1);
  });

  it("leaves gaps open and is empty without a value", () => {
    expect(sparkline([0, Number.NaN, 8, 4], 4)).toBe("▁ █▅");
    expect(sparkline([Number.NaN], 5)).toBe("");
    expect(sparkline([], 5)).toBe("");
  });

  it("is always exactly as wide as asked when anything is finite", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double(), { minLength: 1, maxLength: 200 }),
        fc.integer({ min: 1, max: 80 }),
        (values, width) => {
          const line = sparkline(values, width);
          expect([...line].length).toBe(values.some(Number.isFinite) ? width : 0);
        },
      ),
    );
  });
});

describe("renderMermaid", () => {
  const plots = (text: string) =>
    [...text.matchAll(/line "([^"]*)" \[([^\]]*)\]/g)].map((match) => ({
      name: match[1]!,
      values: match[2]!.split(", ").map(Number),
    }));

  it("draws at most 60 points a line and never loses the peak", () => {
    const series = sampleSeries({ swing: 0 });
    const bytes = Float64Array.from(series.bytes);
    bytes[777] = 3 * GIB;
    const text = renderMermaid(sampleTimeline({ series: [{ ...series, bytes }] }))!;
    for (const plot of plots(text)) {
      expect(plot.values).toHaveLength(60);
      expect(plot.values.every(Number.isFinite)).toBe(true);
    }
    const main = plots(text).find((plot) => plot.name === "allocated")!;
    expect(Math.max(...main.values)).toBe(3);
    const colors = /plotColorPalette: "([^"]*)"/.exec(text)![1]!.split(",");
    expect(colors).toHaveLength(plots(text).length);
    expect(text.length).toBeLessThan(5000);
  });

  it("keeps hostile names inside their quotes", () => {
    const series = [sampleSeries({ device: 'x"]\n%%{init}\n    line "fake" [1]' }), sampleSeries({ device: "cuda:1" })];
    const text = renderMermaid(sampleTimeline({ series, envelope: null }))!;
    expect(text.split("\n").every((line) => (line.match(/"/g)?.length ?? 0) % 2 === 0)).toBe(true);
    expect(text).not.toContain("%%");
    expect(plots(text).map((plot) => plot.name)).not.toContain("fake");
  });

  it("draws nothing where nothing was measured", () => {
    expect(renderMermaid(sampleTimeline({ series: [] }))).toBeNull();
  });
});

const PLAIN = { color: false, width: 100 };

describe("renderTerminal", () => {
  it("starts with the verdict and ends with what to do", () => {
    const lines = renderTerminal(sampleReport("fail"), PLAIN).split("\n");
    expect(lines[0]).toBe("✗ FAIL  train-mlp");
    expect(lines.some((line) => /✗ allocated growth +451\.00 MiB +96\.00 KiB +12\.00 MiB +9\.50 MiB/.test(line))).toBe(
      true,
    );
    expect(lines.some((line) => /^ {2}▁.*█$/.test(line))).toBe(true);
    expect(lines.at(-1)).toBe("      stormlog-gate baseline accept");
  });

  it("prints the worst scenario last and the overall verdict under it", () => {
    const scenarios = [sampleScenario("fail", { scenario: "bad" }), sampleScenario("pass", { scenario: "good" })];
    const text = renderTerminal(sampleReport("fail", { scenarios }), PLAIN);
    expect(text.indexOf("good")).toBeLessThan(text.indexOf("bad"));
    expect(text.split("\n").at(-1)).toContain("✗ FAIL  2 scenarios");
  });

  it("uses colour only when asked to, whatever stdout is", () => {
    expect(renderTerminal(sampleReport("fail"), PLAIN)).not.toContain("\u001b");
    expect(renderTerminal(sampleReport("fail"), { color: true, width: 100 })).toContain("\u001b[31m");
  });

  it.each(["pass", "warn", "fail", "unjudged", "error"] as const)("keeps the lines of %s within the window", (word) => {
    for (const width of [60, 80, 120]) {
      const tooLong = renderTerminal(sampleReport(word), { color: false, width })
        .split("\n")
        .filter((line) => displayWidth(line) > Math.max(width, 76));
      expect(tooLong).toEqual([]);
    }
  });

  it("obeys no control sequence of outside text", () => {
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

  it("says what an unfinished judgement still wants", () => {
    const judgement = sampleJudgement("unjudged", { next: { kind: "candidate-runs", runs: 2, baseRuns: 1 } });
    expect(renderJudgementTerminal(judgement, PLAIN)).toContain(
      "Not final: wants 2 more of the candidate and 1 of the base commit.",
    );
  });
});

describe("renderAnalysisTerminal", () => {
  it("prints one row per series with class, peak, growth and slope, and the findings", () => {
    const text = renderAnalysisTerminal(sampleAnalysis(), PLAIN);
    expect(text).toMatch(/cuda:0 allocated +leak +1\.88 GiB +\+451\.00 MiB +\+226\.00 KiB\/step/);
    expect(text).toContain("losses.append");
    expect(text).toContain("MEMORY CREEP");
  });

  it("prints a dash for what is unknown, never 0", () => {
    const unknown = sampleSeriesAnalysis({
      class: "unavailable",
      peak_bytes: null,
      growth_bytes: null,
      slope_bytes_per_s: null,
      slope_bytes_per_step: null,
      mde_bytes: null,
      steps_to_oom: null,
      seconds_to_oom: null,
    });
    const row = renderAnalysisTerminal(sampleAnalysis({ series: [unknown], findings: [] }), PLAIN).split("\n")[1]!;
    expect(row).toMatch(/unavailable( +–){5}$/);
  });

  it("says so when there is nothing", () => {
    expect(renderAnalysisTerminal(sampleAnalysis({ series: [], findings: [], diagnosis: [] }), PLAIN)).toContain(
      "No memory series",
    );
  });
});
