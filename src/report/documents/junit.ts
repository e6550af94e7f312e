import { replaceHidden } from "../../core/escape.ts";
import { formatSize } from "../../telemetry/recording/metrics.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import { causesOf } from "../headline/causes.ts";
import { answerSentence } from "../headline/sentence.ts";
import type { GateReport, ScenarioReport } from "../model/gate-report.ts";
import type { Scaling } from "../model/report-schema.ts";
import { checkName } from "../wording/wording.ts";

/**
 * The report as JUnit XML: one suite per scenario, one case per check. A failed check is a failure, a command that
 * could not be measured an error, an unjudged check is skipped, and a warning passes with its reason in `system-out`.
 */
export function renderJUnit(report: GateReport): string {
  const suites = [...report.scenarios.map(suite), ...(report.scaling ?? []).flatMap(scalingSuite)];
  const sum = (of: (one: Suite) => number) => suites.reduce((total, one) => total + of(one), 0);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="stormlog-gate" tests="${sum((one) => one.tests)}" failures="${sum((one) => one.failures)}" errors="${sum((one) => one.errors)}" skipped="${sum((one) => one.skipped)}">`,
    ...suites.map((one) => one.xml),
    "</testsuites>",
    "",
  ].join("\n");
}

interface Suite {
  readonly xml: string;
  readonly tests: number;
  readonly failures: number;
  readonly errors: number;
  readonly skipped: number;
}

function suite(scenario: ScenarioReport): Suite {
  const checks = checksOf(scenario);
  // One failure for each cause: a check that another explains refers to it.
  const explained = new Map(
    causesOf(checks).flatMap((cause) => cause.explained.map((check) => [check, checkName(cause.decisive, checks)])),
  );
  const cases = checks.map((check) =>
    testCase(
      scenario,
      `${checkName(check, checks)} against ${check.limit}`,
      0,
      checkBody(check, explained.get(check) ?? null),
    ),
  );
  const isExplained = (check: Check) => check.verdict === "fail" && check.gating && explained.has(check);
  const failures = checks.filter((check) => check.verdict === "fail" && check.gating && !explained.has(check)).length;
  let skipped = checks.filter((check) => check.verdict === "unjudged" || isExplained(check)).length;
  let errors = 0;
  if (scenario.error !== null) {
    errors = 1;
    const body = `<error type="${xml(scenario.error.code)}" message="${xml(scenario.error.message)}"/>`;
    cases.push(testCase(scenario, "measured command", seconds(scenario), body));
  } else if (checks.length === 0) {
    skipped += 1;
    cases.push(
      testCase(scenario, "memory", seconds(scenario), `<skipped message="${xml(answerSentence(scenario))}"/>`),
    );
  }
  const open = `<testsuite name="${xml(scenario.scenario)}" tests="${cases.length}" failures="${failures}" errors="${errors}" skipped="${skipped}" time="${seconds(scenario).toFixed(3)}">`;
  return { xml: [open, ...cases, "</testsuite>"].join("\n"), tests: cases.length, failures, errors, skipped };
}

/** The limits on how a peak grows with a value; none without limits. */
function scalingSuite({ scenario, name, verdict, reason }: Scaling): Suite[] {
  if (verdict === null) return [];
  const tag = { pass: null, fail: "failure", unjudged: "skipped" }[verdict];
  const body = tag === null ? "" : `<${tag} message="${xml(reason ?? "")}"/>`;
  const counts = { tests: 1, failures: Number(verdict === "fail"), errors: 0, skipped: Number(verdict === "unjudged") };
  const numbers = Object.entries(counts).map(([key, count]) => `${key}="${count}"`);
  const only = `<testcase classname="${xml(scenario)}" name="${xml(`peak over ${name}`)}" time="0.000">${body}</testcase>`;
  const open = `<testsuite name="${xml(`${scenario} over ${name}`)}" ${numbers.join(" ")} time="0.000">`;
  return [{ xml: `${open}\n${only}\n</testsuite>`, ...counts }];
}

/** What an acceptance or a known leak excuses is a warning. */
function checksOf({ verdict, judgement }: ScenarioReport): readonly Check[] {
  const checks = judgement?.checks ?? [];
  if (verdict !== "warn") return checks;
  return checks.map((check) => (check.verdict === "fail" ? { ...check, verdict: "warn" } : check));
}

function checkBody(check: Check, explainedBy: string | null): string {
  const reason = xml(check.reason);
  if (explainedBy !== null && check.verdict === "fail" && check.gating) {
    return `<skipped message="${xml(`explained by ${explainedBy}: ${check.reason}`)}"/>`;
  }
  switch (check.verdict) {
    case "fail":
      // An advisory check must not turn a test report red.
      return check.gating
        ? `<failure type="${check.aspect}" message="${reason}">${xml(numbers(check))}</failure>`
        : `<system-out>${reason}</system-out>`;
    case "unjudged":
      return `<skipped message="${reason}"/>`;
    case "warn":
      return `<system-out>warning: ${reason}</system-out>`;
    case "pass":
      return "";
  }
}

function testCase(scenario: ScenarioReport, name: string, time: number, body: string): string {
  return `<testcase classname="${xml(scenario.scenario)}" name="${xml(name)}" time="${time.toFixed(3)}">${body}</testcase>`;
}

function numbers(check: Check): string {
  const size = (bytes: number | null) => (bytes === null ? "unknown" : formatSize(check.metric, bytes));
  return `candidate ${size(check.candidate_bytes)}, baseline ${size(check.baseline_bytes)}, limit ${size(check.threshold_bytes)}`;
}

function seconds(scenario: ScenarioReport): number {
  return scenario.runs.reduce((total, run) => total + (run.info.clock.duration_s ?? 0), 0);
}

/** Text for XML 1.0, which cannot represent most control characters, not even as entities, nor lone surrogates. */
function xml(text: string): string {
  const visible = replaceHidden(text.replace(/[\ufffe\uffff]/g, "\ufffd"), (c) => (c === "\r" ? c : "\ufffd"));
  return visible.replace(/[&<>"'\n\r\t]/g, (c) => `&#${c.charCodeAt(0)};`);
}
