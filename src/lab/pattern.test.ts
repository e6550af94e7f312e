import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AnalysisDocument, Finding, SeriesAnalysis } from "../analysis/series/document.ts";
import { type GateReport, type RunReport, scenarioReport, type Verdict } from "../report/model/gate-report.ts";
import type { RecordingInfo } from "../telemetry/recording/model.ts";
import { CATALOGUE, type CatalogueEntry } from "./catalogue.ts";
import { inLeak } from "./output.ts";
import { measuredPattern } from "./pattern.ts";

const ENTRY = CATALOGUE[0] as CatalogueEntry;

function series(more: Partial<SeriesAnalysis>): SeriesAnalysis {
  return {
    rank: 0,
    device: "host",
    metric: "allocated",
    highwater: false,
    samples: 100,
    duration_s: 10,
    steps: 100,
    peak_bytes: 1000,
    peak_kind: "exact",
    slope_bytes_per_s: 1,
    slope_bytes_per_step: 10,
    slope_interval: null,
    growth_bytes: 1000,
    class: "leak",
    mde_bytes: 5,
    steps_to_oom: null,
    seconds_to_oom: null,
    ...more,
  };
}

const LINE: Finding = {
  classification: "leak_line",
  severity: "critical",
  confidence: 1,
  rank: null,
  device: "host",
  metric: null,
  evidence: { line: "leak-lab/patterns/x.py:3" },
  description: "",
  remediation: [],
};

/** A judged state with a bundle on disk, as far as a row of the table reads it. */
function judged(
  parent: string,
  state: string,
  verdict: Verdict,
  all: readonly SeriesAnalysis[],
  printed: string,
  findings: readonly Finding[],
) {
  const bundle = path.join(parent, "x", state);
  const directory = "runs/x/1";
  mkdirSync(path.join(bundle, directory), { recursive: true });
  writeFileSync(path.join(bundle, directory, "output.log"), printed);
  const analysis = { series: all, findings: [] } as unknown as AnalysisDocument;
  const run: RunReport = { role: "candidate", directory, info: {} as RecordingInfo, analysis };
  const scenario = scenarioReport({
    scenario: "x",
    verdict,
    judgement: null,
    error: verdict === "error" ? { code: "COMMAND_FAILED", message: "it ended with 1", hint: null } : null,
    runs: [run],
    baseline: null,
    fingerprint: {},
    findings,
    timeline: null,
  });
  const report: GateReport = {
    tool: { name: "stormlog-gate", version: "0", argv: [] },
    generated_at_utc: "",
    verdict,
    exit_code: 0,
    confirmed: verdict === "fail",
    session: "",
    commit: null,
    scenarios: [scenario],
    cost: { runs: 1, minutes: 1 },
    warnings: [],
  };
  return { report, bundle };
}

function parent(): string {
  const made = mkdtempSync(path.join(tmpdir(), "stormlog-lab-pattern-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function row(
  leaky: Verdict,
  fixed: Verdict,
  all: readonly SeriesAnalysis[] = [series({})],
  printed = "",
  findings: readonly Finding[] = [],
  ofFixed: readonly SeriesAnalysis[] = [series({ peak_bytes: 500 })],
) {
  const target = parent();
  const file = path.join(target, "x.py");
  writeFileSync(file, "one\n# leak begins\nthree\n# leak ends\n");
  const states = {
    leaky: judged(target, "leaky", leaky, all, printed, [LINE, ...findings]),
    fixed: judged(target, "fixed", fixed, ofFixed, printed, []),
  };
  return measuredPattern(ENTRY, states, target, file);
}

describe("a row of the leak lab", () => {
  it("a pattern is caught only where the leaky state failed and the fixed one did not", () => {
    expect(row("fail", "pass").outcome).toBe("caught");
    expect(row("fail", "warn").outcome).toBe("caught");
    expect(row("warn", "pass").outcome).toBe("warned");
    expect(row("pass", "warn").outcome).toBe("not-visible");
    expect(row("pass", "pass").outcome).toBe("not-visible");
    expect(row("fail", "fail").outcome).toBe("false-alarm");
    expect(row("unjudged", "pass").outcome).toBe("broken");
    expect(row("fail", "unjudged").outcome).toBe("broken");
    expect(row("error", "pass")).toMatchObject({ outcome: "broken", reason: "it ended with 1" });
  });

  it("a row of the lab has the device's allocator where there is one, of the rank that grows most", () => {
    const all = [
      series({ metric: "host" }),
      series({ device: "cuda:0", growth_bytes: 10, peak_bytes: 700 }),
      series({ device: "cuda:1", rank: 1, growth_bytes: 20, peak_bytes: 800 }),
      series({ device: "cuda:1", metric: "reserved", growth_bytes: 99 }),
    ];
    const ofFixed = [
      series({ device: "cuda:1", rank: 1, peak_bytes: 500 }),
      series({ device: "cuda:0", peak_bytes: 9 }),
    ];
    const { series: about, leaky, ratio } = row("fail", "pass", all, "", [], ofFixed);
    expect(about).toEqual({ device: "cuda:1", metric: "allocated", rank: 1 });
    expect(leaky?.peak_bytes).toBe(800);
    expect(ratio).toBe(1.6);
  });

  it("a row of the lab compares the same counter of both states, or none", () => {
    const pages = [series({ metric: "host", peak_bytes: 1020 })];
    const both = [series({ peak_bytes: 113 }), series({ metric: "host", peak_bytes: 1000 })];
    expect(row("fail", "pass", pages, "", [], both)).toMatchObject({ ratio: 1.02, fixed: { peak_bytes: 1000 } });
    expect(row("fail", "pass", both, "", [], pages)).toMatchObject({ ratio: null, fixed: { peak_bytes: null } });
  });

  it("the reason has the last output line of a failed program, and of no other", () => {
    const died = row("error", "pass", [], "Traceback\n  no such device \n\n");
    expect(died.reason).toBe("it ended with 1: no such device");
    expect(row("unjudged", "pass", [], "the last words").reason).toBeNull();
  });

  it("a row of the lab has no ratio where a peak is unknown, rather than a ratio of 0", () => {
    const { ratio, leaky, series: about } = row("fail", "pass", [series({ peak_bytes: null })]);
    expect(ratio).toBeNull();
    expect(about).toBeNull();
    expect(leaky?.peak_bytes).toBeNull();
  });

  it("a row of the lab has the device on which the leaky state ran out of memory, with the largest known size", () => {
    const ranOut: Finding = { ...LINE, classification: "oom", device: "cuda:0", evidence: { allocated_bytes: 7000 } };
    expect(row("fail", "pass", undefined, "", [ranOut])).toMatchObject({
      outcome: "caught",
      leaky: { peak_bytes: 1000, out_of_memory: { device: "cuda:0", at_bytes: 7000 } },
      fixed: { out_of_memory: null },
      ratio: 14,
    });
    const untold = row("fail", "pass", undefined, "", [{ ...ranOut, evidence: {} }]);
    expect(untold.leaky?.out_of_memory).toEqual({ device: "cuda:0", at_bytes: 1000 });
  });

  it("a row of the lab has reserved beside allocated memory of the same device", () => {
    const all = [
      series({ device: "cuda:0", peak_bytes: 700 }),
      series({ device: "cuda:0", metric: "reserved", peak_bytes: 900 }),
      series({ device: "host", metric: "reserved", peak_bytes: 5 }),
    ];
    expect(row("fail", "pass", all).leaky?.reserved_peak_bytes).toBe(900);
  });

  it("kept bytes and accuracy come from the program's facts line, and from no other output", () => {
    const facts = '{"steps":60,"framework":"torch 2","leak_bytes_per_step":4096,"accuracy":0.25}';
    const good = row("fail", "pass", undefined, `epoch 1\nleak-lab: ${facts}\n`);
    expect(good).toMatchObject({ steps: 60, leak_bytes_per_step: 4096, leaky: { accuracy: 0.25 } });
    for (const printed of ["leak-lab: {", "leak-lab: {}", `epoch leak-lab: ${facts}`]) {
      expect(row("fail", "pass", undefined, printed)).toMatchObject({ steps: null, leaky: { accuracy: null } });
    }
  });

  it("a row of the lab reports whether the first line of the attribution is in the leak", () => {
    expect(row("fail", "pass")).toMatchObject({ line: "leak-lab/patterns/x.py:3", line_in_leak: true });
    const file = path.join(parent(), "x.py");
    writeFileSync(file, "one\n# leak begins\nthree\n# leak ends\n");
    expect(inLeak("a/x.py:4", file)).toBe(false);
    expect(inLeak("a/y.py:3", file)).toBe(false);
    expect(inLeak("x.py", file)).toBe(false);
  });
});
