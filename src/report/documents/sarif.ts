import { createHash } from "node:crypto";
import { escapeTerminal } from "../../core/escape.ts";
import { causesOf } from "../headline/causes.ts";
import { type LineAnswer, leakLine, peakLines } from "../headline/line-answer.ts";
import { answerSentence } from "../headline/sentence.ts";
import type { GateReport, ScenarioReport } from "../model/gate-report.ts";
import type { Scaling } from "../model/report-schema.ts";
import { scalingSentence } from "../wording/scaling-text.ts";
import { LEAK_LINE, locationKey, type SourceLocation, sourceLocationOf } from "../wording/source-line.ts";
import { checkName } from "../wording/wording.ts";

interface Result {
  readonly rule: string;
  readonly level: "error" | "warning" | "note";
  readonly message: string;
  readonly scenario: string;
  readonly location: SourceLocation | null;
  /** A key of the line that survives edits above it; "" without a location. */
  readonly identity: string;
}

/** A hash, which keeps outside text out of the fingerprint. */
function fingerprintOf({ scenario, rule, identity }: Result): string {
  return createHash("sha256").update([scenario, rule, identity].join("\0")).digest("hex").slice(0, 32);
}

/**
 * The report as SARIF 2.1.0. Results without a source line point at the gate's config file, because code scanning shows
 * no result without a location.
 */
export function renderSarif(report: GateReport): string {
  const scaling = (report.scaling ?? []).flatMap(scalingResult);
  // Code scanning reads at most this many results of a run.
  const results = [...scaling, ...report.scenarios.flatMap(resultsOf)].slice(0, 5000);
  const rules = [...new Set(results.map((result) => result.rule))].sort();
  const document = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: report.tool.name,
            version: report.tool.version,
            rules: rules.map((id) => ({ id, shortDescription: { text: `Memory gate: ${id.replaceAll("_", " ")}` } })),
          },
        },
        invocations: [{ executionSuccessful: report.verdict !== "error", exitCode: report.exit_code }],
        results: results.map((result) => ({
          ruleId: result.rule,
          ruleIndex: rules.indexOf(result.rule),
          level: result.level,
          message: { text: plain(result.message) },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: uriOf(result.location?.file ?? "stormlog-gate.yml") },
                region: { startLine: result.location?.line ?? 1 },
              },
            },
          ],
          partialFingerprints: { "stormlogGate/v1": fingerprintOf(result) },
        })),
      },
    ],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** The key of the leaking line; "" without one. */
function locationOf({ findings }: ScenarioReport, line: LineAnswer | null): string {
  const finding = line === null ? undefined : findings.find(({ classification }) => classification === LEAK_LINE);
  return finding === undefined ? "" : locationKey(finding);
}

/** One result for each cause of a failure or warning, for what is unjudged, and for what no cause explains. */
function resultsOf(scenario: ScenarioReport): Result[] {
  const results: Result[] = [];
  const add = (
    rule: string,
    level: Result["level"],
    text: string,
    location: SourceLocation | null = null,
    identity = "",
  ) => {
    const message = `${scenario.scenario}: ${text}`;
    results.push({ rule: plain(rule), level, message, scenario: scenario.scenario, location, identity });
  };
  if (scenario.error !== null) add("command_error", "error", scenario.error.message);
  const checks = scenario.judgement?.checks ?? [];
  causesOf(checks).forEach(({ kind, decisive }, index) => {
    const name = checkName(decisive, checks);
    const text = index === 0 ? answerSentence(scenario) : `${name}: ${decisive.reason}`;
    // The line that was found belongs to the first cause.
    const line = index === 0 ? (leakLine(scenario.findings) ?? peakLines(scenario.findings)[0] ?? null) : null;
    const fix = line?.fix == null ? "" : `. ${line.fix}`;
    const level = decisive.verdict === "fail" && scenario.verdict !== "warn" ? "error" : "warning";
    add(`memory_${kind}`, level, `${text}${fix}`, line?.source ?? null, `${name}|${locationOf(scenario, line)}`);
  });
  const open = checks.filter(({ verdict }) => verdict === "unjudged");
  for (const check of open) {
    const name = checkName(check, checks);
    add(`memory_${check.aspect}`, "note", `${name}: ${check.reason}`, null, name);
  }
  for (const finding of scenario.findings) {
    if (finding.explained_by !== undefined || finding.classification === LEAK_LINE) continue;
    const level = finding.severity === "critical" ? "error" : finding.severity === "warning" ? "warning" : "note";
    const hint = finding.remediation[0] === undefined ? "" : ` ${finding.remediation[0]}`;
    const text = `${finding.description}.${hint}`;
    const identity = locationKey(finding) || [finding.rank, finding.device, finding.metric].join("|");
    add(finding.classification, level, text, sourceLocationOf(finding), identity);
  }
  return results;
}

/** One result for a limit on how a peak grows that is breached or not judged. */
function scalingResult(scaling: Scaling): Result[] {
  const message = scalingSentence(scaling);
  if (message === null) return [];
  const { scenario, name, verdict } = scaling;
  const level = verdict === "fail" ? "error" : "note";
  return [{ rule: "memory_scaling", level, message, scenario, location: null, identity: name }];
}

/** Text without links: a viewer makes one of "[text](address)" in a message. */
function plain(text: string): string {
  return escapeTerminal(text).replace(/\](?=\()/g, "] ");
}

function uriOf(file: string): string {
  return file
    .replace(/\p{Surrogate}/gu, "\ufffd")
    .split(/[\\/]/)
    .map(encodeURIComponent)
    .join("/");
}
