import * as v from "valibot";
import { invalidInput } from "../../core/errors.ts";
import { type ReportStatus, STATUS_EXIT } from "../../core/exit-codes.ts";
import { issueText } from "../../core/issue-text.ts";
import type { GateReport } from "../model/gate-report.ts";
import { REPORT_KIND, reportOf } from "../model/payload.ts";
import { PayloadSchema } from "../model/report-schema.ts";

const VerdictStatusSchema = v.variant("status", [
  ...(Object.keys(STATUS_EXIT) as ReportStatus[]).map((status) =>
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
