import { describe, expect, it } from "vitest";
import type { Finding, LinePackage, SeriesAnalysis } from "../../analysis/series/document.ts";
import { MIB } from "../../core/units.ts";
import { headingText } from "../markdown/answer.ts";
import type { ScenarioReport } from "../model/gate-report.ts";
import { payloadOf } from "../model/payload.ts";
import {
  SAMPLE_FINDING,
  sampleAnalysis,
  sampleCheck,
  sampleJudgement,
  sampleReport,
  sampleScenario,
  sampleSeriesAnalysis,
} from "../testing/sample-report.ts";
import { leakLine, lineNote, unattributed } from "./line-answer.ts";
import { answerSentence } from "./sentence.ts";
import { rowSize, shownRows } from "./shown-rows.ts";

const KEY = { rank: 0, device: "cuda:0", metric: "allocated" } as const;

function sentenceOf(
  classes: readonly ("leak" | "flat")[],
  findings: readonly Finding[] = [],
  {
    device = KEY.device as string,
    metric = KEY.metric as "host" | "allocated",
    share = 1,
    gained = 90 * MIB,
    workers = ["worker 2 of 4 of gunicorn", "wrk"],
    all = [] as readonly SeriesAnalysis[],
    show = answerSentence,
  } = {},
): string {
  const place = { ...KEY, device, metric };
  const roles = workers.map((role, i) => ({
    ...{ role, program: "", rank: 0, pids: 1, peak_bytes: 90 * MIB, window_s: 9 },
    share: i === 0 ? share : 1 - share,
    growth_bytes: gained * (i === 0 ? share : 1 - share),
  }));
  const base = sampleScenario("fail");
  const [run] = base.runs;
  if (run === undefined) throw new Error("the sample has a run");
  const runs = classes.map((label) => ({
    ...run,
    analysis: sampleAnalysis({
      processes: roles,
      series: [sampleSeriesAnalysis({ ...place, class: label, growth_bytes: label === "leak" ? 90 * MIB : 0 }), ...all],
    }),
  }));
  const check = sampleCheck({
    ...place,
    aspect: "class",
    gating: true,
    verdict: "fail",
    confirmed: true,
    candidate_class: "leak",
    candidate_bytes: 90 * MIB,
    threshold_bytes: null,
    mde_bytes: null,
  });
  const judgement = sampleJudgement("fail", { checks: [check], confirmed: true });
  return show(sampleScenario("fail", { runs, judgement, findings }));
}

const lineOf = (line: string, placed: string, named: LinePackage): Finding => ({
  ...SAMPLE_FINDING,
  classification: "leak_line",
  evidence: { line, placed },
  package: named,
});

describe("the sizes of a row", () => {
  const row = (value: number, limit: number | null) => {
    const check = sampleCheck({ ...KEY, aspect: "peak", candidate_bytes: value, threshold_bytes: limit });
    return [rowSize(check, value), rowSize(check, limit)];
  };

  it("a value and a limit that differ are printed differently, in as few digits as that takes", () => {
    expect(row(150 * MIB, 162 * MIB)).toEqual(["150 MiB", "162 MiB"]);
    expect(row(161.8 * MIB, 162.1 * MIB)).toEqual(["161.80 MiB", "162.10 MiB"]);
    expect(row(162 * MIB, 162 * MIB + 3)).toEqual(["169869312 B", "169869315 B"]);
    expect(row(162 * MIB, 162 * MIB)).toEqual(["162 MiB", "162 MiB"]);
    expect(row(162 * MIB, null)).toEqual(["162 MiB", "–"]);
  });

  it("the sentence and the heading have the value of the row, and tell it from its limit", () => {
    const limit = { aspect: "peak", limit: "baseline", verdict: "fail", baseline_bytes: 150 * MIB } as const;
    // The check has the median of an even number of runs, which none of them measured.
    const check = sampleCheck({ ...KEY, ...limit, candidate_bytes: 162.6 * MIB, threshold_bytes: 162.1 * MIB });
    const scenario = sampleScenario("fail", { judgement: sampleJudgement("fail", { checks: [check] }) });
    const runs = [162.3, 163].flatMap((mib) =>
      scenario.runs.map((run) => {
        const series = [sampleSeriesAnalysis({ ...KEY, peak_bytes: mib * MIB })];
        return { ...run, role: "candidate" as const, analysis: sampleAnalysis({ series }) };
      }),
    );
    const shown = sampleScenario("fail", { judgement: scenario.judgement, runs });
    expect(shownRows(shown).map((one) => rowSize(one, one.candidate_bytes))).toEqual(["162.30 MiB"]);
    expect(answerSentence(shown)).toMatch(
      /^Allocated peak 162\.30 MiB, 205 KiB above the limit of 162\.10 MiB \(baseline 150\.00 MiB\)/,
    );
    expect(headingText(shown)).toContain("peaks 205 KiB above its limit");
  });
});

describe("the sentence of growth that the C heap keeps", () => {
  it("says what the heap keeps, and no leak", () => {
    const check = sampleCheck({
      ...{ rank: 0, device: "host", metric: "host", aspect: "class", gating: true, verdict: "warn" },
      ...{ candidate_class: "leak", candidate_bytes: 79 * MIB, kept_bytes: 72 * MIB },
    });
    const judgement = sampleJudgement("warn", { checks: [check] });
    expect(answerSentence(sampleScenario("warn", { judgement }))).toBe(
      "Host memory grows by 72.0 MiB that the C heap keeps; what is in use stops growing",
    );
  });
});

describe("the sentence of a leak", () => {
  it("counts the runs that showed it, not those that were made", () => {
    expect(sentenceOf(["leak", "flat", "leak"])).toMatch(/^Leak of .*, confirmed in 2 of 3 runs$/);
    expect(sentenceOf(["leak", "leak"])).toMatch(/, confirmed in 2 of 2 runs$/);
    expect(sentenceOf(["leak"])).toMatch(/, confirmed$/);
  });

  it("names the process that has most of the growth of host memory", () => {
    const host = { device: "host" };
    expect(sentenceOf(["leak"], [], host)).toMatch(/^Leak of .* in worker 2 of 4 of gunicorn, confirmed$/);
    expect(sentenceOf(["leak"], [], { ...host, share: 0.8 })).toContain(" in worker 2 of 4 of gunicorn");
    const inDocument = (scenario: ScenarioReport): string => {
      const [written] = payloadOf(sampleReport("fail", { scenarios: [scenario] })).scenarios;
      return written?.judgement?.checks[0]?.process ?? "none";
    };
    expect(sentenceOf(["leak"], [], { ...host, show: inDocument })).toBe("worker 2 of 4 of gunicorn");
    expect(sentenceOf(["leak"], [], { ...host, share: 0.6, show: inDocument })).toBe("none");
    expect(sentenceOf(["leak"], [], { ...host, share: 0.7 })).not.toContain("gunicorn");
    expect(sentenceOf(["leak"])).not.toContain("gunicorn");
  });

  it("states the rate of all processes together where the heap of one of them decides", () => {
    const host = (growth: number) =>
      sampleSeriesAnalysis({
        ...{ rank: 0, device: "host", metric: "host", class: "leak" },
        ...{ growth_bytes: growth, slope_bytes_per_step: 512 * 1024 },
      });
    const rate = (growth: number) =>
      sentenceOf(["leak"], [], { device: "host", metric: "allocated", all: [host(growth)] });
    expect(rate(270 * MIB)).toMatch(/^Leak of 512 KiB a step/);
    expect(rate(80 * MIB)).not.toContain("512 KiB");
  });

  it("names no process where the processes that are left gained little of the growth", () => {
    expect(sentenceOf(["leak"], [], { device: "host", gained: 60 * MIB })).toContain("gunicorn");
    expect(sentenceOf(["leak"], [], { device: "host", gained: MIB })).not.toContain("gunicorn");
  });

  it("names the process in the heading of a comment, with its name escaped", () => {
    const heading = (worker: string) =>
      sentenceOf(["leak"], [], { device: "host", workers: [worker, "wrk"], show: headingText });
    expect(heading("worker 2 of 4 of gunicorn")).toMatch(/ leaks .* in worker 2 of 4 of gunicorn$/);
    expect(heading("<img src=x> | job")).not.toContain("<img");
  });

  it("names the workers that have most of the growth of the pages together, and not for the heap of one", () => {
    const workers = ["worker 1 of 2 of gunicorn", "worker 2 of 2 of gunicorn"];
    const of = (metric: "host" | "allocated") =>
      sentenceOf(["leak"], [], { device: "host", share: 0.5, workers, metric });
    expect(of("host")).toMatch(/^Leak of .* in the 2 workers of gunicorn, confirmed$/);
    expect(of("allocated")).not.toContain("gunicorn");
  });

  it.each([
    ["contains", "allocated", "in left-pad 1.0.0"],
    ["called", "allocated", "allocated in left-pad 1.0.0"],
    ["called", "kept", "kept in left-pad 1.0.0"],
    ["calls", "allocated", "called by left-pad 1.0.0"],
  ] as const)("names the package that %s the line of %s memory", (relation, placed, text) => {
    const named = { ecosystem: "node", name: "left-pad", version: "1.0.0", relation } as const;
    expect(sentenceOf(["leak"], [lineOf("src/serve.py:41", placed, named)])).toMatch(
      new RegExp(`^Leak of .* at src/serve\\.py:41, ${text}, confirmed$`),
    );
  });

  it("marks a package that was yanked or is deprecated", () => {
    const named = { ecosystem: "node", name: "a", version: "1.0.0", relation: "contains" } as const;
    const text = (more: Partial<LinePackage>): string =>
      sentenceOf(["leak"], [lineOf("a.js:1", "kept", { ...named, ...more })]);
    expect(text({ deprecated: "use b" })).toContain(", in a 1.0.0 (deprecated), ");
    expect(text({ yanked: true })).toContain(", in a 1.0.0 (yanked), ");
  });

  it("the sentence of a leak omits a package name beyond 100 characters, and keeps the line", () => {
    const named = { ecosystem: "node", name: "n".repeat(60), version: "1.0.0", relation: "called" } as const;
    const text = sentenceOf(["leak", "leak"], [lineOf("src/serve.py:41", "kept", named)]);
    expect(text).toMatch(/ at serve\.py:41, confirmed in 2 of 2 runs$/);
  });
});

it("a line is given the share of its package's other lines only together with their number", () => {
  const named = { ecosystem: "node", name: "grpc", version: "1.0.0", relation: "called" } as const;
  const noteOf = (more: Finding["evidence"]): string => {
    const finding = lineOf("a.js:1", "allocated", named);
    const line = leakLine([{ ...finding, evidence: { ...finding.evidence, share: 0.44, ...more } }]);
    return line === null ? "" : lineNote(line);
  };
  expect(noteOf({})).toBe("44 % of the growth");
  expect(noteOf({ package_lines: 3 })).toBe("44 % of the growth with 3 lines of the package");
});

describe("growth that no line holds", () => {
  it("growth that no line explains is named beside a line of the same device only", () => {
    const rest = (device: string): Finding => {
      const evidence = { share: 0.33, memory: "native" };
      return { ...SAMPLE_FINDING, classification: "unattributed_growth", device, evidence };
    };
    const line: Finding = {
      ...SAMPLE_FINDING,
      classification: "leak_line",
      device: "cuda:0",
      evidence: { line: "a:1" },
    };
    expect(unattributed([line, rest("host")])).toBeNull();
    expect(unattributed([line, rest("host"), rest("cuda:0")])?.text).toContain("33 % of the growth");
    expect(unattributed([rest("host")])?.text).toContain("33 % of the growth");
  });
});

it("a pass above its limit is explained by its reason, and no limit is named", () => {
  const reason = "peak 1.20 GiB is 200 MiB above the baseline's 1.00 GiB, but so is the base commit in this session";
  const check = (candidate_bytes: number) =>
    sampleCheck({ ...KEY, verdict: "pass", gating: true, candidate_bytes, threshold_bytes: 1100 * MIB, reason });
  const sentence = (value: number) =>
    answerSentence(sampleScenario("pass", { judgement: sampleJudgement("pass", { checks: [check(value)] }) }));
  expect(sentence(1200 * MIB)).toMatch(/^Peak 1\.20 GiB is 200 MiB above .* but so is the base commit/);
  expect(sentence(1000 * MIB)).toContain("(limit 1.07 GiB)");
});

describe("the sentence of a verdict that limits left open", () => {
  it.each([
    [{ kind: "candidate-runs", runs: 2, baseRuns: 1 }, "; needs 2 more runs of the change and 1 of the base"],
    [{ kind: "candidate-runs", runs: 1, baseRuns: 0 }, "; needs 1 more run of the change"],
    [{ kind: "base-runs", runs: 3 }, "; needs 3 runs of the base"],
  ] as const)("the sentence ends with the missing runs, however long the rest is: %o", (next, end) => {
    const judgement = sampleJudgement("fail", { next, confirmed: false });
    const sentence = answerSentence(sampleScenario("fail", { judgement }));
    expect(sentence.slice(-end.length)).toBe(end);
  });
});
