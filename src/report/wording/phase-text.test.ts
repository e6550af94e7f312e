import { describe, expect, it } from "vitest";
import type { PhaseMemory, PhasesMemory } from "../../analysis/growth/phases.ts";
import { KIB, MIB } from "../../core/units.ts";
import { renderSummary } from "../markdown/summary-markdown.ts";
import type { GateReport, RunReport } from "../model/gate-report.ts";
import { payloadOf, reportOf } from "../model/payload.ts";
import { renderTerminal } from "../terminal/terminal.ts";
import { displayWidth } from "../terminal/terminal-table.ts";
import { sampleReport, sampleScenario } from "../testing/sample-report.ts";

const phase = (name: string, rest: Partial<PhaseMemory> = {}): PhaseMemory => ({
  name,
  entered: 1,
  unended: 0,
  processes: 1,
  seconds: 0.5,
  highest_bytes: 2 * MIB,
  growth_bytes: 3 * KIB,
  ...rest,
});

function reportWith(phases: readonly PhaseMemory[], rest: Partial<PhasesMemory> = {}): GateReport {
  const memory: PhasesMemory = { metric: "allocated", device: "cuda:0", phases, dropped: 0, ...rest };
  const scenario = sampleScenario("pass");
  const runs = scenario.runs.map((run): RunReport => ({ ...run, phases: memory }));
  return sampleReport("pass", { scenarios: [{ ...scenario, runs }] });
}

const terminal = (report: GateReport, width = 100): string =>
  renderTerminal(report, { color: false, verbose: true, width });

describe("phases on a terminal", () => {
  it("phases are printed as a table at a terminal, unknown sizes as dashes", () => {
    const text = terminal(
      reportWith([
        phase("warm-up"),
        phase("epoch", { entered: 12, processes: 4, seconds: 75, growth_bytes: -MIB }),
        phase("last", { unended: 1, highest_bytes: null, growth_bytes: null, seconds: null }),
      ]),
    );
    const lines = text.split("\n");
    const at = lines.findIndex((line) => line.startsWith("  phase "));
    expect(lines.slice(at, at + 5)).toEqual([
      "  phase              entered        time   highest     growth",
      "  warm-up                  1      500 ms  2.00 MiB  +3.00 KiB",
      "  epoch    12 in 4 processes  1 min 15 s  2.00 MiB  -1.00 MiB",
      "  last          1, not ended           –         –          –",
      "  Sizes: samples of the memory allocated on cuda:0; growth from entry to end, median over entries.",
    ]);
  });

  it("phases are absent from terminal and summary where none was named", () => {
    expect(terminal(sampleReport("pass"))).not.toContain("growth from entry");
    expect(renderSummary(sampleReport("pass"))).not.toContain("growth from entry");
  });

  it("the table of phases is followed by the number of phases and entries that are not shown", () => {
    const many = Array.from({ length: 30 }, (_, i) => phase(`epoch ${i}`));
    const text = terminal(reportWith(many, { dropped: 744 }));
    expect(text).toContain("epoch 15");
    expect(text).not.toContain("epoch 16");
    expect(text).toContain("report.json lists 14 more phases.");
    expect(text).toContain("744 further entries were dropped.");
  });

  it("keep hostile names on one line, escaped and within the window", () => {
    const odd = `\u001b[31mred\u0007\u202e two\nlines ${"字".repeat(70)}`;
    const text = terminal(reportWith([phase(odd)], { device: "cuda\u001b[0m" }), 80);
    expect(text).toContain("\\x1b[31mred\\x07\\x202e two…");
    expect(terminal(reportWith([phase(odd)]), 120)).toContain("\\x202e two lines 字");
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    const line = text.split("\n").find((one) => one.includes("red"))!;
    expect(displayWidth(line)).toBeLessThanOrEqual(80);
  });
});

describe("phases in a summary", () => {
  it("phases in a summary are folded with the details", () => {
    const text = renderSummary(reportWith([phase("warm-up")]));
    const details = text.slice(text.indexOf("<details>"));
    expect(details).toContain("| warm-up | 1 | 500 ms | 2.00 MiB | +3.00 KiB |");
    expect(text.slice(0, text.indexOf("<details>"))).not.toContain("warm-up");
  });

  it("phases in a summary have escaped names", () => {
    const odd = "a|b </details> @admin #12 [x](http://evil.example) `c`";
    const text = renderSummary(reportWith([phase(odd)]));
    const row = text.split("\n").find((line) => line.startsWith("| a&#124;b"))!;
    expect(row).toBeDefined();
    expect(row).not.toMatch(/<\/details>|@admin| #12|\]\(|http:\/\//);
    expect(row.split("|")).toHaveLength(7);
  });
});

describe("phases of a report", () => {
  it("phases of a report are unchanged when it is written and read back", () => {
    const report = reportWith([phase("warm-up", { seconds: null })]);
    const back = reportOf(payloadOf(report), report.tool, report.generated_at_utc);
    expect(back.scenarios[0]!.runs[0]!.phases).toEqual(report.scenarios[0]!.runs[0]!.phases);
    const table = (one: GateReport) =>
      terminal(one)
        .split("\n")
        .filter((line) => /^ {2}(phase|warm-up) /.test(line));
    expect(table(back)).toHaveLength(2);
    expect(table(back)).toEqual(table(report));
  });
});
