import { describe, expect, it } from "vitest";
import type { Finding } from "../analysis/series/document.ts";
import { renderSarif } from "./documents/sarif.ts";
import { heldText } from "./headline/line-answer.ts";
import { leadText } from "./markdown/answer.ts";
import type { GateReport, ScenarioReport } from "./model/gate-report.ts";
import type { PeakReport } from "./model/peak-report.ts";
import { renderTerminal } from "./terminal/terminal.ts";
import { SAMPLE_FINDING, sampleCheck, sampleJudgement, sampleReport, sampleScenario } from "./testing/sample-report.ts";
import { sectionHtml } from "./timeline/page-section.ts";

const MIB = 2 ** 20;

const line = (place: string, difference: number, share: number, more: object = {}): Finding => ({
  ...SAMPLE_FINDING,
  classification: "peak_line",
  severity: "warning",
  evidence: { line: place, code: `at("${place}")`, difference_bytes: difference * MIB, share, ...more },
  remediation: [],
});

/** A peak that is 149 MiB above its limit, with these findings. */
function report(findings: readonly Finding[], more: Partial<ScenarioReport> = {}): GateReport {
  const check = sampleCheck({
    aspect: "peak",
    metric: "host",
    device: "host",
    verdict: "fail",
    candidate_bytes: 1311 * MIB,
    threshold_bytes: 1162 * MIB,
    baseline_bytes: 1130 * MIB,
    reason: "peak is higher",
  });
  const judgement = sampleJudgement("fail", { checks: [check] });
  return sampleReport("fail", {
    scenarios: [sampleScenario("fail", { judgement, findings, timeline: null, ...more })],
  });
}

const two = report([line("src/attention.py:88", 131, 0.72, { changed: "changed" }), line("src/optim.py:9", 18, 0.1)]);
const [scenario] = two.scenarios;

describe("the lines that make a peak higher", () => {
  it("stand below the verdict of the terminal, the first with its code", () => {
    const text = renderTerminal(two, { color: false, width: 100 });
    expect(text).toContain("Host peak 1.28 GiB, 149 MiB above the limit of 1.13 GiB");
    expect(text).toMatch(
      /▶ 88 │ at\("src\/attention\.py:88"\) +131 MiB more than on the base, 72 % of the difference\n {4}also src\/optim\.py:9: 18\.0 MiB more than on the base, 10 % of the difference\n {4}changed since the base commit/,
    );
  });

  it("lead the comment, and are on the page", () => {
    if (scenario === undefined) throw new Error("no scenario");
    const lead = leadText(scenario, () => null);
    expect(lead).toContain("`src/attention.py:88` holds 131&nbsp;MiB more than on the base, 72 % of the difference.**");
    expect(lead).toContain("Also `src/optim.py:9` holds 18.0&nbsp;MiB more than on the base, 10 % of the difference.");
    expect(lead).toContain("The line is changed in this pull request.");
    expect(sectionHtml(scenario, 0, false)).toContain("131 MiB more than on the base, 72 % of the difference");
  });

  it("place the result of code scanning", () => {
    const [run] = JSON.parse(renderSarif(two)).runs;
    expect(run.results[0].locations[0].physicalLocation).toEqual({
      artifactLocation: { uri: "src/attention.py" },
      region: { startLine: 88 },
    });
  });

  it("the code of a peak's lines is escaped as text of the measured program", () => {
    const evil = report([line("x.py:1", 131, 0.7, { code: "</code><script>`\u001b[2J" })]);
    expect(renderTerminal(evil, { color: false, width: 100 })).not.toContain("\u001b");
    const [only] = evil.scenarios;
    if (only === undefined) throw new Error("no scenario");
    expect(sectionHtml(only, 0, false)).not.toContain("<script>");
  });

  it("the line of a peak is said to hold its part where nothing was compared, and not to be a cause", () => {
    const finding = line("x.py:1", 131, 0.7, { difference_bytes: null, peak_bytes: 140 * MIB });
    const peak = { bytes: 172 * MIB } as PeakReport;
    const held = report([{ ...finding, classification: "held_at_peak", severity: "info" }], { peak });
    const sentence = "140 MiB of 172 MiB are held at x.py:1; no other peak to compare with";
    const text = renderTerminal(held, { color: false, width: 100 });
    expect(text).toContain(`\n  ${sentence}\n`);
    expect(text).not.toContain("▶");
    const [only] = held.scenarios;
    if (only === undefined) throw new Error("no scenario");
    expect(leadText(only, () => null).replaceAll("&nbsp;", " ")).toContain(`${sentence}.`);
  });

  it("the lines that hold most are named where a run had no more memory", () => {
    const held = ["x.py:1", "x.py:2", "x.py:3", "x.py:4"].map((at, index) => ({
      ...line(at, 0, 0.2, { difference_bytes: null, peak_bytes: (40 - index) * MIB }),
      classification: "held_at_peak",
    }));
    const error = { code: "COMMAND_OUT_OF_MEMORY", message: "no memory", hint: null };
    const [only] = report(held, { peak: { bytes: 172 * MIB } as PeakReport }).scenarios;
    if (only === undefined) throw new Error("no scenario");
    const largest = "40.0 MiB of 172 MiB are held at x.py:1, 39.0 MiB at x.py:2, 38.0 MiB at x.py:3";
    expect(heldText({ ...only, error })).toBe(largest);
    expect(heldText(only)).toBe(`${largest}; no other peak to compare with`);
  });
});
