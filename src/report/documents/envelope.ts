import type { MeasurementsDocument } from "../../analysis/measurements.ts";
import { withCounts } from "../../analysis/series/document.ts";
import { ExitCode, type ReportStatus, STATUS_EXIT } from "../../core/exit-codes.ts";
import { isCounted } from "../../telemetry/recording/metrics.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import { answerSentence } from "../headline/sentence.ts";
import { successfulRuns } from "../model/decisive-run.ts";
import { type GateReport, type ScenarioReport, worstScenario } from "../model/gate-report.ts";
import { known, payloadOf, REPORT_KIND } from "../model/payload.ts";
import { decidingScaling } from "../wording/scaling-text.ts";
import { checkName } from "../wording/wording.ts";
import type { StormlogReport } from "./parse-report.ts";

/** The command of a command line that begins with the programme's name; the Action has only one. */
function commandOf(argv: readonly string[]): string {
  const second = argv[1];
  return second === undefined || second.startsWith("-") ? "run" : second;
}

/** A gate's report as the document Stormlog's tools read. */
export function stormlogReport(report: GateReport): StormlogReport {
  const status = statusOf(report);
  return {
    schema_version: 1,
    format: "stormlog.report",
    report_kind: REPORT_KIND,
    generated_at_utc: report.generated_at_utc,
    tool: {
      name: report.tool.name,
      command: commandOf(report.tool.argv),
      version: report.tool.version,
      argv: [...report.tool.argv],
    },
    verdict: { status, exit_code: STATUS_EXIT[status], summary: summaryOf(report) },
    findings: withIds(report.scenarios.flatMap(findingsOf)),
    metrics: metricsOf(report),
    artifacts: [
      { kind: "measurements", path: "measurements.json", format: "stormlog.measurements", schema_version: 1 },
      { kind: "summary", path: "summary.md", format: "markdown" },
      { kind: "timeline", path: "timeline.png", format: "png" },
      { kind: "timeline", path: "timeline.html", format: "html" },
    ],
    recommendations: [
      ...new Set(report.scenarios.flatMap((scenario) => scenario.findings.flatMap((f) => f.remediation))),
    ].slice(0, 50),
    session_id: report.session,
    payload: payloadOf(report),
  };
}

function statusOf(report: GateReport): ReportStatus {
  if (report.exit_code === ExitCode.interrupted) return "interrupted";
  switch (report.verdict) {
    case "pass":
      return "pass";
    case "warn":
    case "unjudged":
      return "findings";
    case "fail":
      return "gate_failed";
    case "error":
      if (report.exit_code === ExitCode.invalidInput) return "invalid_input";
      return report.exit_code === ExitCode.usage ? "usage" : "error";
  }
}

function summaryOf(report: GateReport): string {
  const scaling = decidingScaling(report);
  if (scaling !== null) return `${report.verdict}: ${scaling}`;
  const worst = report.scenarios.find((scenario) => scenario.verdict === report.verdict) ?? report.scenarios[0];
  return `${report.verdict}: ${worst === undefined ? "nothing was measured" : answerSentence(worst)}`;
}

type StormlogFinding = StormlogReport["findings"][number];
/** A finding with the parts of its id: what it is about. */
interface EnvelopeFinding extends Omit<StormlogFinding, "id"> {
  readonly about: readonly (string | number)[];
}

/**
 * Ids in the alphabet of Stormlog's readers, `[a-z][a-z0-9_.]*`: kind, scenario and series, for example
 * `leak.train.rank0.cuda_0.allocated`. Repeated ones get a number.
 */
function withIds(findings: readonly EnvelopeFinding[]): StormlogFinding[] {
  const taken = new Set<string>();
  return findings.map(({ about, ...finding }) => {
    const parts = [finding.kind, ...about].map((part) =>
      String(part)
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, "_"),
    );
    const stem = parts.join(".").replace(/^[^a-z]/, "f$&");
    let id = stem;
    for (let n = 2; taken.has(id); n++) id = `${stem}.${n}`;
    taken.add(id);
    return { id, ...finding };
  });
}

/** Rank, device and metric as parts of an id, those that are known. */
const series = ({ rank, device, metric }: { rank: number | null; device: string | null; metric: string | null }) => [
  ...(rank === null ? [] : [`rank${rank}`]),
  ...(device === null ? [] : [device]),
  ...(metric === null ? [] : [metric]),
];

function findingsOf(scenario: ScenarioReport): EnvelopeFinding[] {
  const directory = scenario.runs.findLast((run) => run.role === "candidate")?.directory;
  const evidence = directory === undefined ? [] : [{ kind: "recording", path: `${directory}/recording.json` }];
  const list: EnvelopeFinding[] = [];
  if (scenario.error !== null) {
    list.push({
      about: [scenario.scenario, scenario.error.code],
      kind: "command_error",
      severity: "critical",
      title: `${scenario.scenario}: ${scenario.error.code}`,
      message: scenario.error.message,
      evidence,
    });
  }
  const checks = scenario.judgement?.checks ?? [];
  for (const check of checks) {
    if (check.verdict === "pass") continue;
    list.push({
      about: [scenario.scenario, ...series(check), check.limit],
      kind: checkKind(check),
      severity: check.verdict === "fail" ? "critical" : "warning",
      title: `${scenario.scenario}: ${checkName(check, checks)}`,
      message: check.reason,
      metrics: {
        candidate_bytes: known(check.candidate_bytes),
        baseline_bytes: known(check.baseline_bytes),
        threshold_bytes: known(check.threshold_bytes),
        mde_bytes: known(check.mde_bytes),
      },
      evidence,
    });
  }
  for (const finding of scenario.findings) {
    const numbers = Object.entries(finding.evidence).filter(
      (entry): entry is [string, number] => typeof entry[1] === "number",
    );
    list.push({
      about: [scenario.scenario, ...series(finding)],
      kind: finding.classification,
      severity: finding.severity,
      title: `${scenario.scenario}: ${finding.classification.replaceAll("_", " ")}`,
      message: finding.description,
      metrics: Object.fromEntries(numbers.map(([name, value]) => [name, known(value)])),
      evidence,
    });
  }
  return list;
}

function checkKind(check: Check): string {
  if (check.verdict === "unjudged") return "unjudged";
  if (check.aspect === "oom") return "out_of_memory";
  if (check.limit === "budget") return "budget_exceeded";
  return check.aspect === "class" ? "class_change" : `${check.aspect}_regression`;
}

/** The peak and growth of every gating series, by name. */
function metricsOf(report: GateReport): Record<string, number | null> {
  const out: Record<string, number | null> = {};
  for (const scenario of report.scenarios) {
    for (const check of scenario.judgement?.checks ?? []) {
      if (check.aspect !== "peak" && check.aspect !== "growth") continue;
      const unit = isCounted(check.metric) ? "count" : "bytes";
      out[`${scenario.scenario}.rank${check.rank}.${check.device}.${check.metric}.${check.aspect}_${unit}`] = known(
        check.candidate_bytes,
      );
    }
  }
  return out;
}

/**
 * The measurement files of a bundle: the worst scenario's, and with several scenarios also one beside the runs of each.
 * Failed runs are omitted because they are never judged, base re-runs because they belong to the baseline.
 */
export function measurementDocuments(
  report: GateReport,
): { readonly path: string; readonly content: MeasurementsDocument }[] {
  const main = worstScenario(report);
  if (main === null) return [];
  const files = [{ path: "measurements.json", content: documentOf(main) }];
  if (report.scenarios.length > 1) {
    for (const scenario of report.scenarios) {
      const directory = scenario.runs[0]?.directory.replace(/\/[^/]*$/, "");
      if (directory) files.push({ path: `${directory}/measurements.json`, content: documentOf(scenario) });
    }
  }
  return files;
}

function documentOf(scenario: ScenarioReport): MeasurementsDocument {
  const runs = successfulRuns(scenario).map((run) => ({ ...run, series: run.series.map(withCounts) }));
  return {
    schema: "stormlog.measurements/1",
    scenario: scenario.scenario,
    fingerprint: { ...scenario.fingerprint },
    runs,
  };
}
