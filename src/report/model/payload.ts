import { analysisDocument } from "../../analysis/series/document.ts";
import { DONE, type Judgement, type JudgementDocument } from "../../verdict/model/judgement.ts";
import { judgementDocument, readJudgement } from "../../verdict/model/judgement-document.ts";
import { decimate } from "./decimate.ts";
import { decisiveRun, growingProcess } from "./decisive-run.ts";
import { type GateReport, type ScenarioReport, scenarioReport, type Timeline } from "./gate-report.ts";
import type { Payload, PayloadDocument, RunReport } from "./report-schema.ts";

export const REPORT_KIND = "memory_gate";

const TEXT_CHARS = 20_000;

/** The gate's own part of a report document; everything needed to print and draw it again without the recordings. */
export function payloadOf(report: GateReport): PayloadDocument {
  const { tool: _tool, generated_at_utc: _time, ...facts } = report;
  return copy<PayloadDocument>({
    ...facts,
    final: report.scenarios.every((scenario) => (scenario.judgement?.next ?? DONE).kind === "done"),
    cost: { ...report.cost, minutes: known(report.cost.minutes) ?? 0 },
    warnings: report.warnings.slice(0, 1000).map((warning) => warning.slice(0, TEXT_CHARS)),
    scenarios: report.scenarios.map(scenarioPayload),
  });
}

function scenarioPayload({ kind: _kind, ...facts }: ScenarioReport) {
  const { judgement, error, timeline } = facts;
  return {
    ...facts,
    runs: facts.runs.map((run) => ({ ...run, analysis: run.analysis && analysisDocument(run.analysis) })),
    judgement: judgement && withProcesses(judgement, facts.runs),
    error: error && {
      ...error,
      message: error.message.slice(0, TEXT_CHARS),
      output_tail: error.output_tail?.slice(-8000),
    },
    timeline: timeline && timelinePayload(timeline),
    interference: facts.interference?.slice(0, 100),
  };
}

/** Names the process that grows, in the first checks of growth that breach: each is looked up in all runs. */
function withProcesses({ checks, ...judgement }: Judgement, runs: readonly RunReport[]): JudgementDocument {
  const breaching = checks.filter(
    ({ kind, verdict }) => (kind === "growth" || kind === "class") && (verdict === "fail" || verdict === "warn"),
  );
  const roles = new Map(
    breaching.slice(0, 100).map((check) => [check, growingProcess(decisiveRun(runs, check), check)]),
  );
  const named = checks.map((check) => {
    const process = roles.get(check) ?? null;
    return process === null ? check : { ...check, process };
  });
  return judgementDocument({ ...judgement, checks: named });
}

function timelinePayload(timeline: Timeline) {
  let to = 0;
  for (const series of timeline.series) {
    for (const time of series.time_s) if (Number.isFinite(time) && time > to) to = time;
  }
  return {
    ...timeline,
    budget_bytes: known(timeline.budget_bytes),
    threshold_bytes: known(timeline.threshold_bytes),
    series: timeline.series.slice(0, 64).map((series) => {
      // Columns a stored timeline is thinned to: enough to draw every picture again.
      const thin = decimate(series, 0, to, 400);
      return {
        rank: series.rank,
        device: series.device,
        metric: series.metric,
        gating: series.gating,
        time_s: [...thin.time_s].map((time) => Number(time.toFixed(4))),
        steps: thin.steps && [...thin.steps].map((step) => known(Number(step.toFixed(3)))),
        bytes: [...thin.bytes].map((value) => known(value)),
      };
    }),
  };
}

/** The report a payload was made of; its timelines are thinned. */
export function reportOf(payload: Payload, tool: GateReport["tool"], generatedAtUtc: string): GateReport {
  const { final, scenarios, ...rest } = payload;
  return {
    tool,
    generated_at_utc: generatedAtUtc,
    ...rest,
    scenarios: scenarios.map(({ timeline, judgement, ...facts }) =>
      scenarioReport({
        ...facts,
        judgement: judgement && readJudgement(judgement),
        timeline: timeline && {
          ...timeline,
          series: timeline.series.map(({ steps, ...series }) => ({
            ...series,
            time_s: Float64Array.from(series.time_s),
            ...(steps === undefined ? {} : { steps: columnOf(steps) }),
            bytes: columnOf(series.bytes),
          })),
        },
      }),
    ),
  };
}

/** A stored column; null is a gap. */
function columnOf(values: readonly (number | null)[]): Float64Array {
  return Float64Array.from(values, (value) => value ?? Number.NaN);
}

/** Null for NaN and infinities, which JSON lacks. */
export function known(value: number | null): number | null {
  return value !== null && Number.isFinite(value) ? value : null;
}

/** A value as JSON keeps it: NaN and infinities become null. */
function copy<Copy>(value: unknown): Copy {
  return JSON.parse(JSON.stringify(value));
}
