import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { type GateReport, scenarioReport } from "../model/gate-report.ts";
import { sampleCheck, sampleJudgement, sampleReport, sampleScenario } from "../testing/sample-report.ts";
import { nightlyBadge } from "./badge.ts";
import { renderJUnit } from "./junit.ts";
import { renderSarif } from "./sarif.ts";

const HOSTILE = `]]></testcase><x a="'&\u0000\u001b\ud800\uffff`;

function hostile(): GateReport {
  const check = sampleCheck({ verdict: "fail", reason: HOSTILE, device: HOSTILE });
  return sampleReport("fail", {
    scenarios: [
      sampleScenario("fail", {
        scenario: HOSTILE,
        judgement: sampleJudgement("fail", { checks: [check, sampleCheck()] }),
      }),
    ],
  });
}

/** A leak that an entry of the configuration covers: its judgement fails, its verdict is a warning. */
function excused(): GateReport {
  const known_leaks = [
    { package: "hoard", version: "1.2.3", at: "keep", until: "2027-01-31", reason: "1.2.4 is not released" },
  ];
  const report = sampleReport("fail");
  return {
    ...report,
    verdict: "warn",
    scenarios: report.scenarios.map((one) => ({ ...one, verdict: "warn", known_leaks })),
  };
}

function python(): boolean {
  try {
    execFileSync("python3", ["-c", "import xml.etree.ElementTree"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

describe("renderJUnit", () => {
  it("counts one failure for each cause, errors and skipped checks", () => {
    const failed = renderJUnit(sampleReport("fail"));
    expect(failed).toContain('tests="5" failures="1" errors="0" skipped="2"');
    expect(failed).toContain('name="allocated growth against baseline" time="0.000"><failure');
    expect(failed).toContain("explained by allocated growth: peak is 462.00 MiB over the baseline");
    expect(renderJUnit(sampleReport("error"))).toContain('tests="1" failures="0" errors="1" skipped="0"');
    expect(renderJUnit(sampleReport("unjudged"))).toContain('failures="0" errors="0" skipped="1"');
    expect(renderJUnit(excused())).toContain('failures="0" errors="0"');
    const law = {
      scenario: "train",
      name: "BATCH",
      metric: "host",
      device: "host",
      points: [],
      fit: null,
      no_fit: null,
    };
    const scaling = [{ ...law, fits: [], verdict: "fail", reason: "the exponent is 2.00, above 1" } as const];
    const scaled = renderJUnit(sampleReport("pass", { scaling }));
    expect(scaled).toContain('failures="1" errors="0" skipped="0"');
    expect(scaled).toContain('<failure message="the exponent is 2.00, above 1"/>');
  });

  it.skipIf(!python())("renderJUnit writes well-formed XML for hostile names, and keeps their text", () => {
    const script =
      "import sys,xml.etree.ElementTree as e; r=e.fromstring(sys.stdin.buffer.read()); print(len(r.findall('.//failure')), r[0].get('name'))";
    const out = execFileSync("python3", ["-c", script], { input: renderJUnit(hostile()), encoding: "utf8" });
    expect(out.startsWith("1 ]]></testcase><x a=\"'&")).toBe(true);
  });
});

describe("renderSarif", () => {
  it.each([
    ["fail", "error"],
    ["unjudged", "note"],
  ] as const)("renderSarif has one result for a limit on scaling with the verdict %s", (verdict, level) => {
    const law = { scenario: "train", name: "N", metric: "host", device: "host", points: [], fit: null, no_fit: null };
    const scaling = [
      { ...law, fits: [], verdict, reason: "above 1" },
      { ...law, name: "M", fits: [], verdict: "pass", reason: null } as const,
    ];
    const { results } = JSON.parse(renderSarif(sampleReport("pass", { verdict, scaling }))).runs[0];
    expect(results).toHaveLength(1);
    expect(results[0]).toMatchObject({
      ruleId: "memory_scaling",
      level,
      message: { text: `train over N: scaling ${verdict}: above 1` },
    });
  });

  it("renderSarif has one result for each cause, at its source line or else at the config file", () => {
    const line = {
      ...sampleScenario("fail").findings[0]!,
      classification: "leak_line",
      evidence: { line: "train.py:48", code: "losses.append(loss)" },
    };
    const sample = sampleScenario("fail");
    const scenarios = [
      { ...sample, findings: [line] },
      { ...sample, scenario: "without-line", findings: [] },
    ];
    const run = JSON.parse(renderSarif(sampleReport("fail", { scenarios }))).runs[0];
    const found = run.results.map((r: { ruleId: string; locations: { physicalLocation: object }[] }) => [
      r.ruleId,
      r.locations[0]!.physicalLocation,
    ]);
    expect(found).toEqual([
      ["memory_leak", { artifactLocation: { uri: "train.py" }, region: { startLine: 48 } }],
      ["memory_leak", { artifactLocation: { uri: "stormlog-gate.yml" }, region: { startLine: 1 } }],
    ]);
    expect(run.results[0].level).toBe("error");
    const [warned] = JSON.parse(renderSarif(excused())).runs[0].results;
    expect(warned).toMatchObject({ ruleId: "memory_leak", level: "warning" });
    const prints = run.results.map((r: { partialFingerprints: object }) => JSON.stringify(r.partialFingerprints));
    expect(new Set(prints).size).toBe(2);
    for (const result of run.results) expect(run.tool.driver.rules[result.ruleIndex].id).toBe(result.ruleId);
  });

  it("renderSarif has no results for a pass, and no location outside the repository", () => {
    expect(JSON.parse(renderSarif(sampleReport("pass"))).runs[0].results).toEqual([]);
    const report = hostile();
    const finding = { ...sampleScenario("fail").findings[0]!, evidence: { line: "../../etc/passwd:1" } };
    const sarif = JSON.parse(renderSarif({ ...report, scenarios: [{ ...report.scenarios[0]!, findings: [finding] }] }));
    for (const result of sarif.runs[0].results) {
      expect(result.locations[0].physicalLocation.artifactLocation.uri).toBe("stormlog-gate.yml");
    }
  });
});

describe("the fingerprint of a line", () => {
  const report = sampleReport("fail");
  const print = (line: string, code: string): string => {
    const finding = { ...sampleScenario("fail").findings[0]!, evidence: { line, function: "train", code } };
    const scenarios = [scenarioReport({ ...report.scenarios[0]!, judgement: null, findings: [finding] })];
    return JSON.parse(renderSarif({ ...report, scenarios })).runs[0].results[0].partialFingerprints["stormlogGate/v1"];
  };

  it("the fingerprint of a line is unchanged by edits above the line and by its indentation", () => {
    expect(print("train.py:61", "    kept.append(loss)")).toBe(print("train.py:48", "kept.append(loss)"));
  });

  it("differs for another line of the same file", () => {
    expect(print("train.py:48", "seen.append(batch)")).not.toBe(print("train.py:48", "kept.append(loss)"));
    expect(print("train.py:48", "")).not.toBe(print("train.py:49", ""));
  });
});

describe("nightlyBadge", () => {
  it("contains the verdict in the form of a shields.io endpoint", () => {
    const badge = { schemaVersion: 1, label: "memory", message: "fail", color: "red" };
    expect(JSON.parse(nightlyBadge("fail", false))).toEqual(badge);
    expect(JSON.parse(nightlyBadge("fail", true))).toEqual({ ...badge, message: "fail (advisory)" });
  });
});
