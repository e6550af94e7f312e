import * as v from "valibot";
import { DRIFT_CLASSES } from "../analysis/document.ts";
import type { MeasuredRun, MeasuredSeries, Measurements } from "../analysis/measurements.ts";
import { invalidInput } from "../core/errors.ts";
import { METRICS } from "../telemetry/recording/model.ts";
import type { Envelope } from "./envelope.ts";

const BASELINE_SCHEMA = "stormlog.baseline/1";

const bytes = v.nullable(v.pipe(v.number(), v.finite()));
const points = v.pipe(v.array(v.pipe(v.number(), v.finite())), v.maxLength(200));

/** One value per series of the epoch: peak, growth, slope per second, slope per step, class. */
const ValueSchema = v.tuple([bytes, bytes, bytes, bytes, v.nullable(v.picklist(DRIFT_CLASSES))]);

export const BaselineRunSchema = v.object({
  session: v.string(),
  commit: v.nullable(v.string()),
  /** ISO 8601, UTC, seconds. */
  time: v.string(),
  /** False = recorded, but not yet accepted, so never compared with. */
  approved: v.boolean(),
  values: v.array(v.nullable(ValueSchema)),
});

export const EpochSchema = v.object({
  opened: v.string(),
  /** Reason for the new epoch, given by its author. */
  reason: v.string(),
  /** Series of the runs' values, in order: rank, device, metric. */
  series: v.array(v.tuple([v.pipe(v.number(), v.integer(), v.minValue(0)), v.string(), v.picklist(METRICS)])),
  runs: v.array(BaselineRunSchema),
});

const EnvelopeSchema = v.object({
  rank: v.pipe(v.number(), v.integer(), v.minValue(0)),
  device: v.string(),
  metric: v.picklist(METRICS),
  time_s: points,
  low_bytes: points,
  mid_bytes: points,
  high_bytes: points,
  steps: v.exactOptional(points),
  runs: v.exactOptional(v.pipe(v.number(), v.safeInteger(), v.minValue(1))),
});

/** `stormlog.baseline/1`: measurements of a scenario in one environment. Epochs oldest first; the last is current. */
export const BaselineRecordSchema = v.object({
  schema: v.literal(BASELINE_SCHEMA),
  scenario: v.string(),
  fingerprint: v.record(v.string(), v.nullable(v.union([v.string(), v.number()]))),
  epochs: v.array(EpochSchema),
  envelopes: v.array(EnvelopeSchema),
});
export type BaselineRecord = v.InferOutput<typeof BaselineRecordSchema>;
export type BaselineEpoch = v.InferOutput<typeof EpochSchema>;
export type BaselineRun = v.InferOutput<typeof BaselineRunSchema>;
type BaselineValue = v.InferOutput<typeof ValueSchema>;

/** A run to be added to a record. */
export interface NewRun {
  readonly measured: MeasuredRun;
  readonly timeIso: string;
  readonly approved: boolean;
}

/**
 * Validates a record read from outside.
 * @throws GateError INPUT_SCHEMA_VERSION for another version, BASELINE_INVALID for an invalid record (exit 5)
 */
export function parseBaselineRecord(json: unknown, where: string): BaselineRecord {
  const schema = typeof json === "object" && json !== null ? (json as { schema?: unknown }).schema : undefined;
  if (typeof schema === "string" && schema.startsWith("stormlog.baseline/") && schema !== BASELINE_SCHEMA) {
    throw invalidInput(
      "INPUT_SCHEMA_VERSION",
      `${where} has schema ${schema}; this version reads ${BASELINE_SCHEMA}`,
      where,
      "Use a newer stormlog-gate.",
    );
  }
  const result = v.safeParse(BaselineRecordSchema, json);
  if (!result.success) {
    const issue = result.issues[0];
    throw invalidInput(
      "BASELINE_INVALID",
      `${where} is not a baseline record: ${v.getDotPath(issue) ?? "document"}: ${issue.message}`,
      where,
    );
  }
  return result.output;
}

const whole = (value: number | null | undefined): number | null => (value == null ? null : Math.round(value));

/** Slopes are estimates, for which six significant digits are enough. */
const short = (value: number | null | undefined): number | null =>
  value == null ? null : Number(value.toPrecision(6));

function storedValue(series: MeasuredSeries): BaselineValue {
  return [
    whole(series.peak_bytes),
    whole(series.growth_bytes),
    short(series.slope_bytes_per_s),
    short(series.slope_bytes_per_step),
    series.class ?? null,
  ];
}

type SeriesKey = BaselineEpoch["series"][number];

const same = (a: SeriesKey, b: SeriesKey): boolean => a[0] === b[0] && a[1] === b[1] && a[2] === b[2];

/** The epoch with one more run. New series are appended, and series that the run lacks are null. */
function withRun(epoch: BaselineEpoch, run: NewRun): BaselineEpoch {
  const keys: SeriesKey[] = run.measured.series.map(({ rank, device, metric }) => [rank, device, metric]);
  const series = [...epoch.series, ...keys.filter((key) => !epoch.series.some((known) => same(known, key)))];
  const values = series.map((key) => {
    const found = run.measured.series.find(({ rank, device, metric }) => same(key, [rank, device, metric]));
    return found === undefined ? null : storedValue(found);
  });
  const { session, commit } = run.measured;
  const time = `${run.timeIso.slice(0, 19)}Z`;
  return { ...epoch, series, runs: [...epoch.runs, { session, commit, time, approved: run.approved, values }] };
}

/** A record of a scenario in an environment that has none yet. */
export function emptyRecord(scenario: string, fingerprint: BaselineRecord["fingerprint"]): BaselineRecord {
  return { schema: BASELINE_SCHEMA, scenario, fingerprint, epochs: [], envelopes: [] };
}

function openEpoch(runs: readonly NewRun[], reason: string): BaselineEpoch {
  const opened = runs[0]?.timeIso ?? "";
  return runs.reduce(withRun, { opened: opened === "" ? "" : `${opened.slice(0, 19)}Z`, reason, series: [], runs: [] });
}

/** Appends runs to the current epoch. The first runs open one. */
export function addRuns(record: BaselineRecord, runs: readonly NewRun[], reason = "refresh"): BaselineRecord {
  const current = record.epochs.at(-1);
  if (current === undefined) return { ...record, epochs: [openEpoch(runs, reason)] };
  return { ...record, epochs: [...record.epochs.slice(0, -1), runs.reduce(withRun, current)] };
}

/** Accepts a new level: a new epoch with the accepted runs. The old one is kept, but not compared with. */
export function acceptRuns(record: BaselineRecord, runs: readonly NewRun[], reason: string): BaselineRecord {
  const accepted = runs.map((run) => ({ ...run, approved: true }));
  return { ...record, epochs: [...record.epochs, openEpoch(accepted, reason)], envelopes: [] };
}

/** Maximum number of newest runs that are compared with. */
const MAX_SELECTED_RUNS = 50;

/** Runs to compare with: the newest 50 accepted of the current epoch, on an ancestor or without a commit. */
export function selectRuns(record: BaselineRecord, ancestors: ReadonlySet<string> | null): readonly BaselineRun[] {
  const current = record.epochs.at(-1);
  if (current === undefined) return [];
  return current.runs
    .filter(({ approved }) => approved)
    .filter(({ commit }) => ancestors === null || commit === null || ancestors.has(commit))
    .slice(-MAX_SELECTED_RUNS);
}

function measuredRunOf(run: BaselineRun, epoch: BaselineEpoch): MeasuredRun {
  const series = epoch.series.flatMap(([rank, device, metric], index): MeasuredSeries[] => {
    const value = run.values[index];
    if (value === undefined || value === null) return [];
    const [peak_bytes, growth_bytes, slope_bytes_per_s, slope_bytes_per_step, driftClass] = value;
    return [
      {
        rank,
        device,
        metric,
        peak_bytes,
        growth_bytes,
        slope_bytes_per_s,
        slope_bytes_per_step,
        ...(driftClass === null ? {} : { class: driftClass }),
      },
    ];
  });
  return { session: run.session, commit: run.commit, series };
}

/** Selected runs of a record as measurements. */
export function toMeasurements(record: BaselineRecord, runs: readonly BaselineRun[]): Measurements {
  const epoch = record.epochs.at(-1);
  return {
    scenario: record.scenario,
    fingerprint: record.fingerprint,
    runs: epoch === undefined ? [] : runs.map((run) => measuredRunOf(run, epoch)),
  };
}

/**
 * A record read from outside, as measurements of its newest accepted runs.
 * @throws GateError INPUT_SCHEMA_VERSION, BASELINE_INVALID (exit 5)
 */
export function recordToMeasurements(json: unknown, where: string): Measurements {
  const record = parseBaselineRecord(json, where);
  return toMeasurements(record, selectRuns(record, null));
}

/** The record with the bands of its newest session. Without any, the earlier ones stay. */
export function withEnvelopes(record: BaselineRecord, envelopes: readonly Envelope[]): BaselineRecord {
  if (envelopes.length === 0) return record;
  return {
    ...record,
    envelopes: envelopes.map(({ rank, device, metric, time_s, low_bytes, mid_bytes, high_bytes, steps, runs }) => ({
      rank,
      device,
      metric,
      time_s: [...time_s],
      low_bytes: [...low_bytes],
      mid_bytes: [...mid_bytes],
      high_bytes: [...high_bytes],
      ...(steps === undefined ? {} : { steps: [...steps] }),
      ...(runs === undefined ? {} : { runs }),
    })),
  };
}
