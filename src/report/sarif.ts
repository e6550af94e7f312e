import type { Finding } from "../analysis/document.ts";
import type { GateReport, ScenarioReport } from "./model.ts";
import { checkName } from "./wording.ts";

/** Code scanning reads at most this many results of a run. */
const MOST_RESULTS = 5000;

interface Result {
  readonly rule: string;
  readonly level: "error" | "warning" | "note";
  readonly message: string;
  readonly scenario: string;
  readonly place: { readonly file: string; readonly line: number } | null;
}

/**
 * The report as SARIF 2.1.0. Results that know their source line (evidence `line`, "train.py:48") point there; the others at
 * the gate's config file, because code scanning shows nothing without a place.
 */
export function renderSarif(report: GateReport): string {
  const results = report.scenarios.flatMap(resultsOf).slice(0, MOST_RESULTS);
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
        invocations: [{ executionSuccessful: report.word !== "error", exitCode: report.exit_code }],
        results: results.map((result) => ({
          ruleId: result.rule,
          ruleIndex: rules.indexOf(result.rule),
          level: result.level,
          message: { text: result.message },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: uriOf(result.place?.file ?? "stormlog-gate.yml") },
                region: { startLine: result.place?.line ?? 1 },
              },
            },
          ],
          partialFingerprints: { "stormlogGate/v1": `${result.scenario}/${result.rule}/${result.place?.file ?? ""}` },
        })),
      },
    ],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function resultsOf(scenario: ScenarioReport): Result[] {
  const results: Result[] = [];
  const add = (rule: string, level: Result["level"], message: string, place: Result["place"] = null) =>
    results.push({ rule, level, message: `${scenario.scenario}: ${message}`, scenario: scenario.scenario, place });
  if (scenario.error !== null) add("command_error", "error", scenario.error.message);
  const checks = scenario.judgement?.checks ?? [];
  for (const check of checks) {
    if (check.verdict === "pass") continue;
    const level = check.verdict === "fail" ? "error" : check.verdict === "warn" ? "warning" : "note";
    const rule = check.limit === "budget" ? "budget" : check.aspect;
    add(`memory_${rule}`, level, `${checkName(check, checks)}: ${check.reason}`);
  }
  for (const finding of scenario.findings) {
    const level = finding.severity === "critical" ? "error" : finding.severity === "warning" ? "warning" : "note";
    const hint = finding.remediation[0] === undefined ? "" : ` ${finding.remediation[0]}`;
    add(finding.classification, level, `${finding.description}.${hint}`, placeOf(finding));
  }
  return results;
}

/** "train.py:48" as a place; only relative paths, since a report shows files of the repository. */
function placeOf(finding: Finding): Result["place"] {
  const line = finding.evidence.line ?? finding.evidence.source_line;
  const match = typeof line === "string" ? /^([^:\0]+):(\d+)$/.exec(line) : null;
  if (match === null || match[1]!.startsWith("/") || match[1]!.split("/").includes("..")) return null;
  return { file: match[1]!, line: Math.max(1, Number(match[2])) };
}

function uriOf(file: string): string {
  return file
    .replace(/\p{Surrogate}/gu, "\ufffd")
    .split(/[\\/]/)
    .map(encodeURIComponent)
    .join("/");
}
