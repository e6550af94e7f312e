import { DONE } from "../../verdict/model/judgement.ts";
import { judgementDocument, readJudgement } from "../../verdict/model/judgement-document.ts";
import { decimate } from "./decimate.ts";
import { type GateReport, type ScenarioReport, scenarioReport, type Timeline } from "./gate-report.ts";
import type { Payload } from "./report-schema.ts";

/** Columns a stored timeline is thinned to: enough to draw every picture again. */
const STORED_COLUMNS = 400;
const STORED_SERIES = 64;
const TAIL_CHARS = 8000;
const TEXT_CHARS = 20_000;

/** The gate's own part of a report document; everything needed to print and draw it again without the recordings. */
export function payloadOf(report: GateReport): Payload {
  return {
    verdict: report.verdict,
    exit_code: report.exit_code,
    final: report.scenarios.every((scenario) => (scenario.judgement?.next ?? DONE).kind === "done"),
    confirmed: report.confirmed,
    session: report.session,
    commit: report.commit,
    cost: { runs: report.cost.runs, minutes: known(report.cost.minutes) ?? 0 },
    warnings: report.warnings.slice(0, 1000).map((warning) => warning.slice(0, TEXT_CHARS)),
    scenarios: report.scenarios.map(scenarioPayload),
    ...(report.policy_changes === undefined
      ? {}
      : { policy_changes: report.policy_changes.map((one) => ({ ...one })) }),
    ...(report.policy_difference === undefined ? {} : { policy_difference: report.policy_difference }),
    ...(report.policy_accepted === undefined ? {} : { policy_accepted: { ...report.policy_accepted } }),
    ...(report.scaling === undefined ? {} : { scaling: copy<NonNullable<Payload["scaling"]>>(report.scaling) }),
  };
}

function scenarioPayload(scenario: ScenarioReport): Payload["scenarios"][number] {
  const { verdict, error, timeline, ...rest } = scenario;
  return copy<Payload["scenarios"][number]>({
    scenario: rest.scenario,
    verdict,
    judgement: rest.judgement && judgementDocument(rest.judgement),
    error:
      error === null
        ? null
        : {
            code: error.code,
            message: error.message.slice(0, TEXT_CHARS),
            hint: error.hint,
            ...(error.output_tail === undefined ? {} : { output_tail: error.output_tail.slice(-TAIL_CHARS) }),
          },
    runs: rest.runs,
    baseline: rest.baseline,
    fingerprint: rest.fingerprint,
    findings: rest.findings,
    timeline: timeline === null ? null : timelinePayload(timeline),
    ...(rest.difference === undefined ? {} : { difference: rest.difference }),
    ...(rest.caused_by === undefined ? {} : { caused_by: rest.caused_by }),
    ...(rest.lock_changes === undefined ? {} : { lock_changes: rest.lock_changes }),
    ...(rest.peak === undefined ? {} : { peak: rest.peak }),
    ...(rest.interference === undefined ? {} : { interference: rest.interference.slice(0, 100) }),
    ...(rest.invocation === undefined ? {} : { invocation: rest.invocation }),
    ...(rest.accepted === undefined ? {} : { accepted: rest.accepted }),
    ...(rest.known_leaks === undefined ? {} : { known_leaks: rest.known_leaks }),
  });
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
    series: timeline.series.slice(0, STORED_SERIES).map((series) => {
      const thin = decimate(series, 0, to, STORED_COLUMNS);
      return {
        rank: series.rank,
        device: series.device,
        metric: series.metric,
        gating: series.gating,
        time_s: [...thin.time_s].map((time) => Number(time.toFixed(4))),
        ...(thin.steps === undefined ? {} : { steps: [...thin.steps].map((step) => known(Number(step.toFixed(3)))) }),
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
        timeline:
          timeline === null
            ? null
            : {
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
