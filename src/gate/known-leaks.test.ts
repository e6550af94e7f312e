import { describe, expect, it } from "vitest";
import type { Finding } from "../analysis/document.ts";
import type { KnownLeak } from "../config/schema.ts";
import { LEAK_LINE } from "../report/source-line.ts";
import { sampleScenario } from "../report/testing/sample-report.ts";
import { checkOf } from "../verdict/check.ts";
import type { Judgement } from "../verdict/judgement.ts";
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
const failing = (findings: readonly Finding[], checks: Judgement["checks"] = [growth]) =>
  sampleScenario("fail", {
    findings,
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
  const known = new KnownLeaks([{ ...ENTRY, ...entry }], TODAY);
  const { word, known_leaks: used = [] } = known.apply(failing(findings, checks));
  return { word, known: used.length, notes: known.notes() };
};
const unseen = (at: string) => [`the known leak of Pandas.Extra at ${at}, until 2027-01-31, was not seen`];

describe("a known leak", () => {
  it("turns exactly its growth into a warning, and leaves the judgement", () => {
    const report = new KnownLeaks([ENTRY], TODAY).apply(failing([line()]));
    expect(report.word).toBe("warn");
    expect(report.judgement?.verdict).toBe("fail");
    const { package: name, at, until, reason } = ENTRY;
    expect(report.known_leaks).toEqual([{ package: name, version: "2.2.0", at, until, reason }]);
  });

  it.each(["src/load.py:12", "load.py:12", "load", "read_csv", "pandas_extra/io.py:7"])(
    "is found by the line or function %s",
    (at) => {
      expect(applied([line()], { at })).toMatchObject({ word: "warn", known: 1 });
    },
  );

  it.each(["oad.py:12", "load.py:1", "read", ""])("is another one at %s", (at) => {
    expect(applied([line()], { at })).toEqual({ word: "fail", known: 0, notes: unseen(at) });
  });

  it("ends with another version", () => {
    const { word, notes } = applied([line({}, "2.2.1")]);
    expect(word).toBe("fail");
    expect(notes[0]).toContain("does not apply: 2.2.1 is installed, and it is for 2.2.0");
  });

  it("holds on its last day and ends after it", () => {
    expect(applied([line()], { until: TODAY }).word).toBe("warn");
    expect(applied([line()], { until: "2026-11-22" })).toMatchObject({
      word: "fail",
      notes: [expect.stringContaining("it ended on 2026-11-22")],
    });
  });

  it("limits all growth of the run, also what its line does not explain", () => {
    expect(applied([line({ share: 0.47 })]).word).toBe("warn");
    expect(applied([line({ share: 0.46 })])).toMatchObject({
      word: "fail",
      notes: [expect.stringContaining("the run grows by 65.22 KiB a step, and its limit is 64.00 KiB")],
    });
  });

  it.each([
    ["2.5 MiB/s", 2.5 * KIB * KIB, "second"],
    ["64KB/step", 64_000, "step"],
  ])("has the limit %s", (limit, bytes, per) => {
    expect(knownLeakLimit({ ...ENTRY, limit })).toEqual({ bytes, per });
  });

  it("needs growth that is counted as its limit is", () => {
    expect(applied([line()], { limit: "1GiB/s" })).toMatchObject({
      word: "fail",
      notes: [expect.stringContaining("the growth is not counted by the second")],
    });
  });

  it("does not cover a second line, nor growth without a line", () => {
    const { package: _package, ...own } = line({ line: "src/own.py:3", function: "own", stack: "src/own.py:3 own" });
    expect(applied([line(), own]).word).toBe("fail");
    expect(applied([]).word).toBe("fail");
  });

  it("covers a peak that is within its limit without the growth, and no other", () => {
    const mib = KIB * KIB;
    expect(applied([line()], {}, [growth, peak(160 * mib)]).word).toBe("warn");
    expect(applied([line()], {}, [growth, peak(161 * mib)])).toMatchObject({
      word: "fail",
      notes: [expect.stringContaining("more than a known leak failed")],
    });
  });

  it("covers growth of no other device or rank", () => {
    const elsewhere = (key: { rank: number; device: string }) =>
      checkOf(
        { ...HOST, ...key },
        { aspect: "class", limit: "baseline", gating: true, verdict: "fail", reason: "leak" },
      );
    for (const other of [elsewhere({ rank: 0, device: "cuda:0" }), elsewhere({ rank: 1, device: "host" })]) {
      expect(applied([line()], {}, [growth, other])).toMatchObject({
        word: "fail",
        notes: [expect.stringContaining("more than a known leak failed")],
      });
    }
  });

  it("covers no budget and no run out of memory", () => {
    for (const aspect of ["peak", "oom"] as const) {
      const hard = checkOf(HOST, { aspect, limit: "budget", gating: true, verdict: "fail", reason: "" });
      expect(applied([line()], {}, [growth, hard]).word).toBe("fail");
    }
  });
});

describe("a known leak that no run showed", () => {
  it("is named in the notes, and whether its day has come", () => {
    expect(new KnownLeaks([ENTRY], TODAY).notes()).toEqual(unseen("load.py:12"));
    expect(new KnownLeaks([ENTRY], "2027-02-01").notes()).toEqual([
      "the known leak of Pandas.Extra at load.py:12, ended on 2027-01-31",
    ]);
    expect(applied([line()]).notes).toEqual([]);
  });
});
