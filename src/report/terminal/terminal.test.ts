import { describe, expect, it } from "vitest";
import { MIB } from "../../core/units.ts";
import { renderSummary } from "../markdown/summary-markdown.ts";
import type { ScenarioReport } from "../model/gate-report.ts";
import {
  SAMPLE_FINDING,
  sampleAnalysis,
  sampleJudgement,
  sampleReport,
  sampleScenario,
} from "../testing/sample-report.ts";
import { renderJudgementTerminal, renderTerminal } from "./terminal.ts";
import { displayWidth } from "./terminal-table.ts";

const PLAIN = { color: false, width: 100 };

describe("renderTerminal", () => {
  it("prints a failure as verdict, rows, way out and evidence in at most 24 lines", () => {
    const lines = renderTerminal(sampleReport("fail"), { ...PLAIN, bundle: "out" }).split("\n");
    expect(lines[0]).toBe("✗ FAIL  train-mlp  Leak of 226 KiB a step, confirmed");
    expect(lines[2]).toMatch(/^ {2}allocated growth +\+451 MiB +limit \+12\.0 MiB +baseline \+96\.0 KiB$/);
    expect(lines[3]).toMatch(/^ {2}allocated peak +1\.88 GiB +limit 1\.45 GiB +[▁-█┊]{20} +baseline 1\.43 GiB$/);
    expect(lines).toContain("  Intended:  stormlog-gate baseline accept");
    expect(lines.at(-1)).toBe("  Evidence:  out/timeline.html      details: stormlog-gate show -v out");
    expect(lines.length).toBeLessThanOrEqual(24);
  });

  it("names what was done to the gate's files right below the verdict, and how to accept a change's own doing", () => {
    const interference = ["samples.rec was \u001b[31mreplaced during the run."];
    const red = sampleReport("fail", { scenarios: [{ ...sampleScenario("fail"), interference }] });
    expect(renderTerminal(red, PLAIN).split("\n")[1]).toMatch(/^ {2}samples\.rec was .*replaced during the run\.$/);
    expect(renderTerminal(red, PLAIN)).not.toContain("\u001b");
    const caused = { ...sampleScenario("unjudged"), caused_by: "removed" as const, difference: "0123456789ab-policy" };
    const text = renderTerminal(sampleReport("unjudged", { scenarios: [caused] }), PLAIN);
    expect(text).toContain("/stormlog accept 0123456789ab-policy <reason>");
  });

  it("prints a pass in at most three lines, notes and evidence included", () => {
    const report = sampleReport("pass", { warnings: ["no swap", "slow disk"] });
    const lines = renderTerminal(report, { ...PLAIN, width: 120, bundle: "out" }).split("\n");
    expect(lines).toEqual([
      expect.stringMatching(/^✓ PASS {2}train-mlp {2}allocated 1\.43 GiB \(limit 1\.45 GiB\)/),
      // The sentence has at most 100 characters.
      "  Would detect +11.0 MiB at the peak, 11.0 MiB of growth",
      "  Evidence:  out      2 notes: stormlog-gate show -v out",
    ]);
  });

  it("keeps the series of a peak on a terminal of 80 columns, and leaves it out of a narrower one", () => {
    const rows = (width: number): string => renderTerminal(sampleReport("fail"), { ...PLAIN, width });
    expect(rows(80)).toMatch(/allocated peak .* [▁-█┊]{12} /);
    expect(rows(70)).not.toMatch(/[▁-█]/);
    for (const line of rows(80).split("\n")) expect(displayWidth(line), line).toBeLessThanOrEqual(80);
  });

  it("prints the command that reproduces a failure alone in its line, and below it what differs there", () => {
    const invocation = {
      ...{ directory: "", config: null, command: ["node", "a.js"], options: [], baselines: null, base: null },
      ...{ fetch: false, modified: true },
    };
    const scenario = { ...sampleScenario("fail"), invocation } as ReturnType<typeof sampleScenario>;
    const lines = renderTerminal(sampleReport("fail", { scenarios: [scenario] }), PLAIN).split("\n");
    const at = lines.findIndex((line) => line.startsWith("  Reproduce: "));
    expect(lines[at]).toMatch(/ -- node a\.js$/);
    expect(
      lines
        .slice(at + 1)
        .join(" ")
        .replace(/\s+/g, " "),
    ).toContain("only this working tree has the uncommitted changes");
  });

  it("prints the verdict alone when it is asked to be quiet", () => {
    const report = sampleReport("fail", { warnings: ["a"] });
    const text = renderTerminal(report, { ...PLAIN, quiet: true, bundle: "out" });
    expect(text).toBe("✗ FAIL  train-mlp  Leak of 226 KiB a step, confirmed");
    const interference = ["samples.rec was replaced during the run."];
    const touched = sampleReport("pass", { scenarios: [{ ...sampleScenario("pass"), interference }] });
    expect(
      renderTerminal(touched, { ...PLAIN, quiet: true })
        .split("\n")
        .at(-1),
    ).toBe(`  ${interference[0]}`);
    const law = { scenario: "train", name: "N", metric: "host", device: "host", points: [], fit: null, no_fit: null };
    const scaling = [{ ...law, fits: [], verdict: "fail", reason: "above 1" } as const];
    const limited = renderTerminal(sampleReport("pass", { verdict: "fail", scaling }), { ...PLAIN, quiet: true });
    expect(limited.split("\n").at(-1)).toContain("above 1");
  });

  it("prints all checks, reasons, findings and notes when asked for details", () => {
    const text = renderTerminal(sampleReport("fail", { warnings: ["a", "b"] }), { ...PLAIN, verbose: true });
    expect(text).toMatch(/✗ allocated growth +451\.00 MiB +96\.00 KiB +12\.00 MiB +9\.50 MiB/);
    expect(text).toContain("would detect");
    expect(text).toContain("allocated growth: grows 11.80 MiB/s where the baseline is flat");
    expect(text.match(/note: .*/g)).toEqual(["note: a", "note: b"]);
  });

  it("prints what each process held when asked for that, and nothing where there is one", () => {
    const worker = { role: "worker 1 of 2 of job.py", program: "job.py", rank: 0, pids: 3, window_s: 2 };
    const processes = [{ ...worker, peak_bytes: 48 * MIB, growth_bytes: 23 * MIB, share: 0.49 }];
    const [run] = sampleScenario("fail").runs;
    const runs = [{ ...run!, analysis: sampleAnalysis({ processes }) }];
    const textOf = (scenario: ScenarioReport) =>
      renderTerminal(sampleReport("fail", { scenarios: [scenario] }), { ...PLAIN, processes: true });
    const text = textOf(sampleScenario("fail", { runs }));
    expect(text).toMatch(/worker 1 of 2 of job\.py \(3 processes\) +48\.0 MiB +\+23\.00 MiB +49 %/);
    expect(textOf(sampleScenario("fail"))).not.toContain("of all growth");
  });

  it("says why no line is named, below the rows, and the comment says it too", () => {
    const reason = "2 readings of the heap fitted into the run, and a line is named from 5 on: a longer run names it";
    const scenario = sampleScenario("fail", { findings: [], no_line: reason });
    const report = sampleReport("fail", { scenarios: [scenario] });
    const text = renderTerminal(report, { ...PLAIN, width: 80 });
    expect(text.replace(/\s+/g, " ")).toContain(`No line: ${reason}`);
    expect(renderSummary(report)).toContain(`No line: ${reason}.`);
    expect(renderSummary(sampleReport("fail", { scenarios: [{ ...scenario, no_line: "<img src=x>" }] }))).not.toContain(
      "<img src=x",
    );
  });

  it("names the line with its code, its share and its fix", () => {
    const line = {
      ...SAMPLE_FINDING,
      classification: "leak_line",
      evidence: {
        line: "train.py:6",
        code: "history.append(x)",
        kept_by: "the list `history`",
        share: 0.98,
        changed: "changed",
      },
      remediation: ["Empty the list."],
    };
    const text = renderTerminal(
      sampleReport("fail", { scenarios: [sampleScenario("fail", { findings: [line] })] }),
      PLAIN,
    );
    expect(text).toContain("Leak of 226 KiB a step at train.py:6, confirmed");
    expect(text).toMatch(/▶ 6 │ history\.append\(x\) +list `history`, 98 % of the growth/);
    expect(text).toContain("changed since the base commit");
    expect(text).toContain("  Fix:       Empty the list.");
  });

  it("prints a package below its line where the sentence has no room for it", () => {
    const line = (name: string) => ({
      ...SAMPLE_FINDING,
      classification: "leak_line",
      evidence: { line: "train.py:6", placed: "allocated" },
      package: { ecosystem: "python", name, version: "1.0", relation: "called" } as const,
    });
    const lines = (name: string): readonly string[] => {
      const scenario = sampleScenario("fail", { findings: [line(name)] });
      return renderTerminal(sampleReport("fail", { scenarios: [scenario] }), PLAIN).split("\n");
    };
    expect(lines("tokenizers").filter((text) => text.includes("tokenizers"))).toEqual([
      expect.stringContaining("at train.py:6, allocated in tokenizers 1.0"),
    ]);
    expect(lines("n".repeat(60))).toContain(`    allocated in ${"n".repeat(60)} 1.0`);
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
    const report = sampleReport("pass", { warnings: ["no swap", "slow disk", "no swap"] });
    const text = renderTerminal(report, { ...PLAIN, verbose: true });
    expect(text.match(/note: .*/g)).toEqual(["note: no swap (2 times)", "note: slow disk"]);
  });

  it("lists the runs that an unfinished judgement needs", () => {
    const judgement = sampleJudgement("unjudged", { next: { kind: "candidate-runs", runs: 2, baseRuns: 1 } });
    expect(renderJudgementTerminal(judgement, PLAIN)).toContain(
      "Not final: needs 2 more candidate runs and 1 run of the base commit.",
    );
  });
});
