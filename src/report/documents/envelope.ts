import * as v from "valibot";
import { measuredRun } from "../../analysis/measured-run.ts";
import type { MeasurementsInput } from "../../analysis/measurements.ts";
import { invalidInput } from "../../core/errors.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { issueText } from "../../core/issue-text.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import { answerSentence } from "../headline/sentence.ts";
import { comparableRole, type GateReport, type ScenarioReport, worstScenario } from "../model/gate-report.ts";
import { known, payloadOf, reportOf } from "../model/payload.ts";
import { PayloadSchema } from "../model/report-schema.ts";
import { decidingScaling } from "../wording/scaling-text.ts";
import { checkName } from "../wording/wording.ts";

export const REPORT_KIND = "memory_gate";

/** The only pairs of status and exit code a report may have. */
const STATUS_EXIT = {
  pass: ExitCode.pass,
  error: ExitCode.error,
  usage: ExitCode.usage,
  findings: ExitCode.findings,
  gate_failed: ExitCode.gateFailed,
  invalid_input: ExitCode.invalidInput,
  interrupted: ExitCode.interrupted,
} as const;
type Status = keyof typeof STATUS_EXIT;

const VerdictStatusSchema = v.variant("status", [
  ...(Object.keys(STATUS_EXIT) as Status[]).map((status) =>
    v.strictObject({ status: v.literal(status), exit_code: v.literal(STATUS_EXIT[status]), summary: v.string() }),
  ),
]);

const EvidenceSchema = v.strictObject({
  kind: v.string(),
  path: v.optional(v.string()),
  pointer: v.optional(v.string()),
  session_id: v.optional(v.string()),
  record_id: v.optional(v.string()),
  start_ns: v.optional(v.number()),
  end_ns: v.optional(v.number()),
  description: v.optional(v.string()),
});

const metrics = v.record(v.string(), v.nullable(v.pipe(v.number(), v.finite())));

/** `stormlog.report`, schema version 1: closed objects, the gate's own data in `payload` alone. */
export const StormlogReportSchema = v.strictObject({
  schema_version: v.literal(1),
  format: v.literal("stormlog.report"),
  report_kind: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_]*$/)),
  generated_at_utc: v.string(),
  tool: v.strictObject({
    name: v.string(),
    command: v.string(),
    version: v.optional(v.string()),
    argv: v.optional(v.array(v.string())),
  }),
  verdict: VerdictStatusSchema,
  findings: v.array(
    v.strictObject({
      id: v.string(),
      kind: v.string(),
      severity: v.picklist(["info", "warning", "critical"]),
      title: v.string(),
      message: v.optional(v.string()),
      metrics: v.optional(metrics),
      evidence: v.array(EvidenceSchema),
    }),
  ),
  metrics: v.optional(metrics),
  artifacts: v.optional(
    v.array(
      v.strictObject({
        kind: v.string(),
        path: v.string(),
        format: v.optional(v.string()),
        schema_version: v.optional(v.union([v.number(), v.string()])),
      }),
    ),
  ),
  recommendations: v.optional(v.array(v.string())),
  session_id: v.optional(v.string()),
  run_id: v.optional(v.string()),
  payload: v.optional(v.record(v.string(), v.unknown())),
});
export type StormlogReport = v.InferOutput<typeof StormlogReportSchema>;

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

/**
 * A gate's report from a parsed, untrusted `report.json`, checked whole before any use; its timelines are thinned.
 * @throws GateError REPORT_INVALID, INPUT_SCHEMA_VERSION
 */
export function parseStormlogReport(json: unknown, where: string): { envelope: StormlogReport; report: GateReport } {
  const version = v.safeParse(v.object({ format: v.literal("stormlog.report"), schema_version: v.number() }), json);
  if (version.success && version.output.schema_version > 1) {
    throw invalidInput(
      "INPUT_SCHEMA_VERSION",
      `this report has schema version ${version.output.schema_version}; this release reads version 1`,
      where,
      "Update stormlog-gate.",
    );
  }
  const envelope = v.safeParse(StormlogReportSchema, json, FIRST);
  if (!envelope.success) throw invalid(envelope.issues[0], "", where);
  if (envelope.output.report_kind !== REPORT_KIND) {
    throw invalidInput(
      "REPORT_INVALID",
      `this is a report of kind "${envelope.output.report_kind}", not of a memory gate`,
      where,
    );
  }
  const payload = v.safeParse(PayloadSchema, envelope.output.payload, FIRST);
  if (!payload.success) throw invalid(payload.issues[0], "payload.", where);
  const { tool, generated_at_utc } = envelope.output;
  return {
    envelope: envelope.output,
    report: reportOf(
      payload.output,
      { name: "stormlog-gate", version: tool.version ?? "unknown", argv: tool.argv ?? [tool.command] },
      generated_at_utc,
    ),
  };
}

/** Stops at the first problem: collecting millions of them in an untrusted file would take too long. */
const FIRST = { abortEarly: true } as const;

function invalid(issue: v.BaseIssue<unknown>, prefix: string, where: string) {
  return invalidInput("REPORT_INVALID", `${prefix}${issueText(issue)}`, where);
}

function statusOf(report: GateReport): Status {
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
      out[`${scenario.scenario}.rank${check.rank}.${check.device}.${check.metric}.${check.aspect}_bytes`] = known(
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
): { readonly path: string; readonly content: MeasurementsInput }[] {
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

function documentOf(scenario: ScenarioReport): MeasurementsInput {
  const wanted = comparableRole(scenario.runs);
  const runs = scenario.runs.flatMap(({ role, info, analysis }) => {
    const succeeded = info.exit.kind === "exited" && info.exit.code === 0;
    if (role !== wanted || analysis === null || !succeeded) return [];
    const { series, ...run } = measuredRun(analysis, { session: info.session, commit: info.commit });
    return [{ ...run, series: [...series] }];
  });
  return {
    schema: "stormlog.measurements/1",
    scenario: scenario.scenario,
    fingerprint: { ...scenario.fingerprint },
    runs,
  };
}
