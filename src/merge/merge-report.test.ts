import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { draws } from "../core/testing/draws.ts";
import { overallVerdict } from "../gate/exit-code.ts";
import { stormlogReport } from "../report/documents/envelope.ts";
import { parseStormlogReport } from "../report/documents/parse-report.ts";
import type { GateReport, Verdict } from "../report/model/gate-report.ts";
import type { Scaling } from "../report/model/report-schema.ts";
import { sampleReport } from "../report/testing/sample-report.ts";
import { type MissingLeg, mergedReport, planJobs, type ReportedLeg, scenarioOfJob } from "./merge-report.ts";

const VERDICTS: readonly Verdict[] = ["pass", "warn", "unjudged", "error", "fail"];

const leg = (name: string, verdict: Verdict, more: Partial<GateReport> = {}): ReportedLeg => ({
  name,
  report: sampleReport(verdict, { session: `session of ${name}`, ...more }),
});

const gone = (name: string): MissingLeg => ({
  name,
  verdict: "unjudged",
  code: "LEG_MISSING",
  message: `${name} did not report`,
  hint: null,
  exitCode: 6,
});

function merged(
  legs: readonly ReportedLeg[],
  missing: readonly MissingLeg[] = [],
  unjudged: "fail" | "pass" = "pass",
): GateReport {
  return mergedReport({
    legs,
    missing,
    scenarios: planJobs(legs).map((job) => scenarioOfJob(job)),
    warnings: [],
    unjudged,
    argv: ["stormlog-gate", "merge"],
    now: new Date(0),
  });
}

const legs = fc
  .array(fc.constantFrom(...VERDICTS), { minLength: 1, maxLength: 8 })
  .map((verdicts) => verdicts.map((verdict, at) => leg(`leg-${at}`, verdict)));

describe("the merged verdict", () => {
  it("the merged verdict is the worst of the legs' verdicts, in any order", () => {
    fc.assert(
      fc.property(legs, fc.infiniteStream(fc.nat()), (given, keys) => {
        const shuffled = given
          .map((one) => ({ one, key: keys.next().value }))
          .sort((a, b) => a.key - b.key)
          .map(({ one }) => one);
        const [here, there] = [merged(given), merged(shuffled)];
        expect({ ...there, session: "" }).toEqual({ ...here, session: "" });
        expect(here.verdict).toBe(overallVerdict(given.map(({ report }) => report.verdict)));
        expect(here.scenarios).toHaveLength(given.length);
      }),
      { numRuns: draws(60) },
    );
  });

  it("the merged verdict is never a pass and never exits 0 while a leg is missing", () => {
    fc.assert(
      fc.property(legs, (given) => {
        const answer = merged(given, [gone("linux")]);
        expect(["pass", "warn"]).not.toContain(answer.verdict);
        expect(answer.exit_code).not.toBe(0);
      }),
      { numRuns: draws(60) },
    );
  });

  it("exits by the worst part in the order of the contract", () => {
    const interrupted = leg("i", "error", { exit_code: 130, scenarios: [] });
    const corrupt: MissingLeg = { ...gone("c"), verdict: "error", code: "BUNDLE_CORRUPT", exitCode: 5 };
    const fail = leg("f", "fail");
    const error = leg("e", "error");
    expect(merged([interrupted, fail], [corrupt]).exit_code).toBe(130);
    expect(merged([fail, error], [corrupt, gone("g")]).exit_code).toBe(5);
    expect(merged([fail, error], [gone("g")]).exit_code).toBe(1);
    expect(merged([fail], [gone("g")]).exit_code).toBe(4);
    expect(merged([leg("p", "pass"), leg("u", "unjudged")], [], "fail").exit_code).toBe(6);
    expect(merged([leg("p", "pass"), leg("u", "unjudged")]).exit_code).toBe(0);
    expect(merged([leg("p", "pass"), leg("w", "warn")], [], "fail").exit_code).toBe(0);
  });

  it("ranks a breached budget above a failed command, and that above any other breach", () => {
    const budget = sampleReport("fail");
    const [scenario] = budget.scenarios;
    if (scenario?.judgement == null) throw new Error("the sample has a judgement");
    const checks = scenario.judgement.checks.map((check) =>
      check.limit === "budget" ? { ...check, verdict: "fail" as const } : check,
    );
    const breached = { ...scenario, judgement: { ...scenario.judgement, checks } };
    const hard = leg("b", "fail", { scenarios: [breached] });
    expect(merged([hard, leg("e", "error")]).exit_code).toBe(4);
  });

  it("includes a leg's error that its scenarios do not explain", () => {
    const half = leg("half", "error", { scenarios: sampleReport("pass").scenarios, exit_code: 130 });
    const answer = merged([half]);
    expect(answer.verdict).toBe("error");
    expect(answer.exit_code).toBe(130);
    expect(answer.scenarios.map(({ error }) => error?.code)).toEqual([undefined, "INTERRUPTED"]);
    expect(merged([leg("empty", "pass", { scenarios: [] })]).verdict).toBe("error");
  });

  it("the merged verdict is an error for bundles of different commits", () => {
    const answer = merged([leg("a", "pass", { commit: "a".repeat(40) }), leg("b", "pass", { commit: "b".repeat(40) })]);
    expect([answer.verdict, answer.exit_code, answer.commit]).toEqual(["error", 5, null]);
    expect(answer.scenarios.at(-1)?.error?.code).toBe("COMMITS_DIFFER");
    expect(merged([leg("a", "pass"), leg("b", "pass", { commit: null })]).verdict).toBe("pass");
  });

  it("adds legs to the names of scenarios that share a name, and keeps names unique", () => {
    const named = (name: string, scenario: string): ReportedLeg => {
      const { report } = leg(name, "pass");
      return { name, report: { ...report, scenarios: report.scenarios.map((one) => ({ ...one, scenario })) } };
    };
    const names = (given: readonly ReportedLeg[]) => merged(given).scenarios.map(({ scenario }) => scenario);
    expect(names([named("a", "train"), named("b", "serve")])).toEqual(["serve", "train"]);
    expect(names([named("a", "train"), named("b", "train")])).toEqual(["a/train", "b/train"]);
    const clash = names([named("a", "train"), named("b", "train"), named("c", "a/train")]);
    expect(new Set(clash).size).toBe(3);
  });

  it("sums the cost of the legs, and names the leg of every warning", () => {
    const answer = merged([
      leg("a", "fail", { warnings: ["slow disk"] }),
      leg("b", "pass", { warnings: ["slow disk"] }),
    ]);
    expect(answer.cost).toEqual({ runs: 5, minutes: expect.closeTo(3.9) });
    expect(answer.warnings).toEqual(["a: slow disk", "b: slow disk"]);
  });
});

describe("the merged scaling", () => {
  const law: Scaling = {
    scenario: "train",
    name: "N",
    metric: "host",
    device: "host",
    points: [
      { value: "1", bytes: 1024 },
      { value: "2", bytes: null, failed: true },
    ],
    fit: null,
    no_fit: "the peak does not rise with it",
    fits: [],
    verdict: null,
    reason: null,
  };
  /** A leg whose scenarios pass, and whose limit on scaling has another verdict. */
  const varied = (name: string, verdict: "pass" | "fail" | "unjudged", more: Partial<GateReport> = {}) =>
    leg(name, "pass", { verdict, scaling: [{ ...law, verdict, reason: verdict }], ...more });

  it.each([
    ["fail", 4],
    ["unjudged", 6],
    ["pass", 0],
  ] as const)("keeps the verdict %s and exits with %d", (verdict, code) => {
    const answer = merged([varied("a", verdict)], [], "fail");
    expect([answer.verdict, answer.exit_code]).toEqual([verdict, code]);
    expect(answer.scenarios.map(({ verdict }) => verdict)).toEqual(["pass"]);
    expect(answer.scaling).toEqual([{ ...law, verdict, reason: verdict }]);
    expect(parseStormlogReport(JSON.parse(JSON.stringify(stormlogReport(answer))), "").report.scaling).toEqual(
      answer.scaling,
    );
  });

  it("passes where an unjudged limit may pass, and is an error for what nothing explains", () => {
    expect(merged([varied("a", "unjudged")]).exit_code).toBe(0);
    const other = merged([varied("a", "fail", { scaling: [{ ...law, verdict: "pass" }] })]);
    expect([other.verdict, other.exit_code, other.scenarios.at(-1)?.error?.code]).toEqual([
      "error",
      1,
      "LEG_INCOMPLETE",
    ]);
    expect(merged([varied("a", "pass", { scenarios: [] })]).verdict).toBe("error");
  });

  it("adds legs to the names that several of them vary", () => {
    const names = ({ scaling = [] }: GateReport) => scaling.map(({ scenario }) => scenario);
    expect(names(merged([varied("b", "pass"), varied("a", "fail")]))).toEqual(["a/train", "b/train"]);
    expect(names(merged([varied("b", "pass"), leg("a", "pass")]))).toEqual(["train"]);
    expect(merged([leg("a", "pass")])).not.toHaveProperty("scaling");
  });
});
