import { describe, expect, it } from "vitest";
import type { Finding } from "../analysis/series/document.ts";
import type { GateRequest } from "../config/gate-request.ts";
import type { KnownLeak } from "../config/schema.ts";
import type { RunReport, ScenarioReport } from "../report/model/gate-report.ts";
import type { PeakReport } from "../report/model/peak-report.ts";
import { sampleRecordingInfo, sampleScenario } from "../report/testing/sample-report.ts";
import { LEAK_LINE, UNATTRIBUTED_GROWTH } from "../report/wording/source-line.ts";
import type { Judgement } from "../verdict/model/judgement.ts";
import { checkOf } from "../verdict/rules/check.ts";
import { KnownLeaks, knownLeakLimit } from "./known-leaks.ts";

const KIB = 1024;
const ENTRY: KnownLeak = {
  package: "Pandas.Extra",
  versions: ["2.2.0"],
  at: "load.py:12",
  limit: "64KiB/step",
  until: "2027-01-31",
  reason: "fixed upstream, not released",
};
const TODAY = "2026-11-23";
const HOST = { rank: 0, device: "host", metric: "host" } as const;

/** A line that holds half of 60 KiB a step, 30 MiB of 60 MiB. */
const line = (overrides: Partial<Finding["evidence"]> = {}, version = "2.2.0"): Finding => ({
  classification: LEAK_LINE,
  severity: "critical",
  confidence: 0.5,
  rank: 0,
  device: "host",
  metric: null,
  evidence: {
    line: "src/load.py:12",
    function: "load",
    bytes_per_step: 30 * KIB,
    bytes_per_s: null,
    growth_bytes: 30 * KIB * KIB,
    share: 0.5,
    stack: "src/load.py:12 load < env/lib/site-packages/pandas_extra/io.py:7 read_csv",
    ...overrides,
  },
  description: "",
  package: { ecosystem: "python", name: "pandas-extra", version, relation: "called" },
  remediation: [],
});

const growth = checkOf(HOST, { aspect: "class", limit: "baseline", gating: true, verdict: "fail", reason: "leak" });
const peak = (bytes: number) =>
  checkOf(HOST, {
    aspect: "peak",
    limit: "baseline",
    gating: true,
    verdict: "fail",
    reason: "higher",
    candidate_bytes: bytes,
    threshold_bytes: 100 * KIB * KIB,
  });
/** A run that looked for lines, or that ended otherwise. */
const attribution = (exit: RunReport["info"]["exit"] = { kind: "exited", code: 0 }): RunReport => ({
  role: "attribution",
  directory: "runs/train-mlp/attribution-1",
  info: sampleRecordingInfo({ exit }),
  analysis: null,
});
const CANDIDATE: RunReport = { ...attribution(), role: "candidate", directory: "runs/train-mlp/1" };
const ON = { attribute: "auto", probe: "auto" } as const;
const failing = (findings: readonly Finding[], checks: Judgement["checks"] = [growth]) =>
  sampleScenario("fail", {
    findings,
    runs: [CANDIDATE, attribution()],
    judgement: {
      verdict: "fail",
      next: { kind: "done" },
      confirmed: true,
      checks,
      fingerprint: [],
      reason: "",
    },
  });
const applied = (findings: readonly Finding[], entry: Partial<KnownLeak> = {}, checks?: Judgement["checks"]) => {
  const known = new KnownLeaks([{ ...ENTRY, ...entry }], TODAY, ON);
  const { verdict, known_leaks: used = [] } = known.apply(failing(findings, checks));
  return { verdict, known: used.length, notes: known.notes() };
};
const unseen = (at: string) => [`the known leak of Pandas.Extra at ${at}, until 2027-01-31, was not seen`];

describe("a known leak", () => {
  it("a known leak turns its growth into a warning, and leaves the judgement", () => {
    const report = new KnownLeaks([ENTRY], TODAY, ON).apply(failing([line()]));
    expect(report.verdict).toBe("warn");
    expect(report.judgement?.verdict).toBe("fail");
    const { package: name, at, until, reason } = ENTRY;
    expect(report.known_leaks).toEqual([{ package: name, version: "2.2.0", at, until, reason }]);
  });

  it.each(["src/load.py:12", "load.py:12", "load", "read_csv", "pandas_extra/io.py:7"])(
    "a known leak is found by the line or function %s",
    (at) => {
      expect(applied([line()], { at })).toMatchObject({ verdict: "warn", known: 1 });
    },
  );

  it.each(["oad.py:12", "load.py:1", "read", ""])("a known leak does not match at %j", (at) => {
    expect(applied([line()], { at })).toEqual({ verdict: "fail", known: 0, notes: unseen(at) });
  });

  it("a known leak does not apply to another version", () => {
    const { verdict, notes } = applied([line({}, "2.2.1")]);
    expect(verdict).toBe("fail");
    expect(notes[0]).toContain("does not apply: 2.2.1 is installed, and it is for 2.2.0");
  });

  it("a known leak applies on its last day and not after it", () => {
    expect(applied([line()], { until: TODAY }).verdict).toBe("warn");
    expect(applied([line()], { until: "2026-11-22" })).toMatchObject({
      verdict: "fail",
      notes: [expect.stringContaining("it ended on 2026-11-22")],
    });
  });

  it("the limit of a known leak covers all growth of the run, also what its line does not explain", () => {
    expect(applied([line({ share: 0.47 })]).verdict).toBe("warn");
    expect(applied([line({ share: 0.46 })])).toMatchObject({
      verdict: "fail",
      notes: [expect.stringContaining("the run grows by 65.22 KiB a step, and its limit is 64.00 KiB")],
    });
  });

  it.each([
    ["2.5 MiB/s", 2.5 * KIB * KIB, "second"],
    ["64KB/step", 64_000, "step"],
  ])("knownLeakLimit reads %s", (limit, bytes, per) => {
    expect(knownLeakLimit({ ...ENTRY, limit })).toEqual({ bytes, per });
  });

  it("a known leak needs growth that is counted as its limit is", () => {
    expect(applied([line()], { limit: "1GiB/s" })).toMatchObject({
      verdict: "fail",
      notes: [expect.stringContaining("the growth is not counted by the second")],
    });
  });

  it("a known leak does not cover a second line, nor growth without a line", () => {
    const { package: _package, ...own } = line({ line: "src/own.py:3", function: "own", stack: "src/own.py:3 own" });
    expect(applied([line(), own]).verdict).toBe("fail");
    expect(applied([]).verdict).toBe("fail");
  });

  it("a known leak covers growth that no line holds, by its package and the line of the blocks that stay", () => {
    const rest: Finding = { ...line({ memory: "freed" }), classification: UNATTRIBUTED_GROWTH };
    for (const at of ["load.py:12", "read_csv"]) expect(applied([rest], { at }).verdict).toBe("warn");
    for (const other of [{ at: "load.py:13" }, { package: "numpy" }, { versions: ["2.2.1"] }, { until: "2026-11-22" }])
      expect(applied([rest], other).verdict).toBe("fail");
    expect(applied([rest], { limit: "59KiB/step" }).verdict).toBe("fail");
    const { package: _package, ...unnamed } = rest;
    expect(applied([unnamed]).verdict).toBe("fail");
    expect(applied([{ ...line(), package: rest.package! }, unnamed]).verdict).toBe("warn");
    expect(applied([line({ line: "own.py:3", stack: "own.py:3 own", function: "own" }), rest]).verdict).toBe("fail");
  });

  it("a known leak covers a peak that is within its limit without the growth, and no other", () => {
    const mib = KIB * KIB;
    expect(applied([line()], {}, [growth, peak(160 * mib)]).verdict).toBe("warn");
    expect(applied([line()], {}, [growth, peak(161 * mib)])).toMatchObject({
      verdict: "fail",
      notes: [expect.stringContaining("more than a known leak failed")],
    });
  });

  it("a known leak covers growth of no other device or rank", () => {
    const elsewhere = (key: { rank: number; device: string }) =>
      checkOf(
        { ...HOST, ...key },
        { aspect: "class", limit: "baseline", gating: true, verdict: "fail", reason: "leak" },
      );
    for (const other of [elsewhere({ rank: 0, device: "cuda:0" }), elsewhere({ rank: 1, device: "host" })]) {
      expect(applied([line()], {}, [growth, other])).toMatchObject({
        verdict: "fail",
        notes: [expect.stringContaining("more than a known leak failed")],
      });
    }
  });

  it("a known leak covers no budget and no run out of memory", () => {
    for (const aspect of ["peak", "oom"] as const) {
      const hard = checkOf(HOST, { aspect, limit: "budget", gating: true, verdict: "fail", reason: "" });
      expect(applied([line()], {}, [growth, hard]).verdict).toBe("fail");
    }
  });
});

describe("a known leak that no run showed", () => {
  const notesAfter = (
    reports: readonly ScenarioReport[],
    settings: Partial<Pick<GateRequest, "attribute" | "probe">> = {},
    today = TODAY,
  ) => {
    const known = new KnownLeaks([ENTRY], today, { ...ON, ...settings });
    for (const report of reports) known.apply(report);
    return known.notes();
  };
  const passed = (...runs: readonly RunReport[]) => sampleScenario("pass", { runs: [CANDIDATE, ...runs] });
  const unchecked = (why: string) => [
    `the known leak of Pandas.Extra at load.py:12, until 2027-01-31, could not be checked: no line was looked for (${why})`,
  ];

  it("a known leak that no run showed is noted when lines were searched for, and when it has expired", () => {
    expect(notesAfter([passed(attribution())])).toEqual(unseen("load.py:12"));
    expect(notesAfter([passed()], {}, "2027-02-01")).toEqual([
      "the known leak of Pandas.Extra at load.py:12, ended on 2027-01-31",
    ]);
    expect(applied([line()]).notes).toEqual([]);
  });

  it.each([
    [{ attribute: "off" }, "attribution is off"],
    [{ probe: "off" }, "the probe is off"],
    [{ attribute: "off", probe: "off" }, "attribution is off"],
    [{}, "attribution did not run"],
  ] as const)("a known leak cannot be checked with %j, since %s", (settings, why) => {
    expect(notesAfter([passed()], settings)).toEqual(unchecked(why));
  });

  it("a known leak cannot be checked by an attribution run that failed or explained a higher peak", () => {
    const failed = attribution({ kind: "exited", code: 1 });
    expect(notesAfter([passed(failed)])).toEqual(unchecked("attribution did not run"));
    const ofPeak = { ...failing([]), peak: {} as PeakReport };
    expect(notesAfter([ofPeak])).toEqual(unchecked("attribution did not run"));
  });

  it("the note on a known leak that was not seen counts the scenarios whose lines were looked for", () => {
    const [note] = notesAfter([passed(), passed(attribution({ kind: "timeout", after_s: 60 }))]);
    expect(note).toContain("was not seen (lines were looked for in 1 of 2 scenarios)");
  });
});
