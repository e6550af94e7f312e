import * as v from "valibot";
import {
  AnalysisVersionSchema,
  type MeasuredRun,
  type MeasuredSeries,
  type Measurements,
} from "../analysis/measurements.ts";
import { MAX_FINGERPRINT_FIELDS } from "../analysis/parse-measurements.ts";
import { DRIFT_CLASSES } from "../analysis/series/document.ts";
import { invalidInput } from "../core/errors.ts";
import { groupBy } from "../core/group-by.ts";
import { issueText } from "../core/issue-text.ts";
import { checkVersion, type DeepReadonly } from "../core/json.ts";
import { isMetric } from "../telemetry/recording/metrics.ts";
import { unknownMetrics } from "../telemetry/recording/model.ts";
import { BandSchema } from "./band.ts";

export const BASELINE_SCHEMA = "stormlog.baseline/1";

const bytes = v.nullable(v.pipe(v.number(), v.finite()));

/** One value per series of the epoch: peak, growth, slope per second, slope per step, class. */
const ValueSchema = v.tuple([bytes, bytes, bytes, bytes, v.nullable(v.picklist(DRIFT_CLASSES))]);

const BaselineRunSchema = v.object({
  session: v.string(),
  commit: v.nullable(v.string()),
  /** ISO 8601, UTC, seconds. */
  time: v.string(),
  /** False = recorded, but not yet accepted, so never compared with. */
  approved: v.boolean(),
  /** Steps that the run made; absent = not known. */
  steps: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  analysis_version: AnalysisVersionSchema,
  values: v.array(v.nullable(ValueSchema)),
  /** One value per phase series of the epoch; absent = none. */
  phases: v.exactOptional(v.array(v.nullable(ValueSchema))),
});

const seriesTuple = [v.pipe(v.number(), v.integer(), v.minValue(0)), v.string()] as const;

const EpochSchema = v.object({
  opened: v.string(),
  /** Reason for the new epoch, given by its author. */
  reason: v.string(),
  /** Series of the runs' values, in order: rank, device, metric. Metrics that are not known are skipped. */
  series: v.array(v.tuple([...seriesTuple, v.string()])),
  /** Series of phases that the policy judges: rank, device, metric, phase. Metrics that are not known are skipped. */
  phases: v.exactOptional(v.array(v.tuple([...seriesTuple, v.string(), v.string()]))),
  runs: v.array(BaselineRunSchema),
});

/** `stormlog.baseline/1`: measurements of a scenario in one environment. Epochs oldest first; the last is current. */
export const BaselineRecordSchema = v.object({
  schema: v.literal(BASELINE_SCHEMA),
  scenario: v.string(),
  fingerprint: v.record(v.string(), v.nullable(v.union([v.string(), v.number()]))),
  epochs: v.array(EpochSchema),
  /** Bands of metrics that are not known are skipped. */
  envelopes: v.array(v.object({ ...BandSchema.entries, metric: v.string() })),
});
export type BaselineRecord = DeepReadonly<v.InferOutput<typeof BaselineRecordSchema>>;
export type BaselineEpoch = DeepReadonly<v.InferOutput<typeof EpochSchema>>;
export type BaselineRun = DeepReadonly<v.InferOutput<typeof BaselineRunSchema>>;
export type BaselineValue = DeepReadonly<v.InferOutput<typeof ValueSchema>>;

/**
 * Validates a record read from outside.
 * @throws GateError INPUT_SCHEMA_VERSION for another version, BASELINE_INVALID for an invalid record (exit 5)
 */
export function parseBaselineRecord(json: unknown, where: string): BaselineRecord {
  checkVersion(json, BASELINE_SCHEMA, where);
  const result = v.safeParse(BaselineRecordSchema, json, { abortEarly: true });
  if (!result.success) {
    const problem = issueText(result.issues[0]);
    throw invalidInput("BASELINE_INVALID", `${where} is not a baseline record: ${problem}`, where);
  }
  const fields = Object.keys(result.output.fingerprint).length;
  if (fields > MAX_FINGERPRINT_FIELDS) {
    const message = `${where} has ${fields} fingerprint fields (at most ${MAX_FINGERPRINT_FIELDS})`;
    throw invalidInput("BASELINE_INVALID", message, where);
  }
  return result.output;
}

/** Runs to compare with: the newest 50 accepted of the current epoch, on an ancestor or without a commit. */
export function selectRuns(record: BaselineRecord, ancestors: ReadonlySet<string> | null): readonly BaselineRun[] {
  const current = record.epochs.at(-1);
  if (current === undefined) return [];
  return current.runs
    .filter(({ approved }) => approved)
    .filter(({ commit }) => ancestors === null || commit === null || ancestors.has(commit))
    .slice(-50);
}

function measuredRunOf(run: BaselineRun, epoch: BaselineEpoch): MeasuredRun {
  const measured = (
    key: Pick<MeasuredSeries, "rank" | "device" | "metric" | "phase">,
    value?: BaselineValue | null,
  ) => {
    if (value === undefined || value === null) return [];
    const [peak_bytes, growth_bytes, slope_bytes_per_s, slope_bytes_per_step, driftClass] = value;
    const slopes = { slope_bytes_per_s, slope_bytes_per_step };
    return [{ ...key, peak_bytes, growth_bytes, ...slopes, ...(driftClass === null ? {} : { class: driftClass }) }];
  };
  const series: MeasuredSeries[] = [
    ...epoch.series.flatMap(([rank, device, metric], i) =>
      isMetric(metric) ? measured({ rank, device, metric }, run.values[i]) : [],
    ),
    ...(epoch.phases ?? []).flatMap(([rank, device, metric, phase], i) =>
      isMetric(metric) ? measured({ rank, device, metric, phase }, run.phases?.[i]) : [],
    ),
  ];
  return {
    session: run.session,
    commit: run.commit,
    series,
    ...(run.steps === undefined ? {} : { steps: run.steps }),
    ...(run.analysis_version === undefined ? {} : { analysis_version: run.analysis_version }),
  };
}

/**
 * Minimum number of runs of an epoch that is compared with on its own: the verdict's default minimum for a baseline.
 */
export const MIN_EPOCH_RUNS = 5;

/** The epoch before the current one that has enough runs; null when there is none, or when it is not needed. */
function earlierEpoch({ epochs }: BaselineRecord, selected: number): BaselineEpoch | null {
  if (selected === 0 || selected >= MIN_EPOCH_RUNS) return null;
  return epochs.slice(0, -1).findLast(({ runs }) => runs.length >= MIN_EPOCH_RUNS) ?? null;
}

/** The epochs whose runs count: the current one, and an earlier one while the current one has too few. */
export function comparedEpochs(record: BaselineRecord): readonly BaselineEpoch[] {
  const current = record.epochs.at(-1);
  if (current === undefined) return [];
  const earlier = earlierEpoch(record, current.runs.length);
  return earlier === null ? [current] : [earlier, current];
}

const QUANTITIES = ["peak_bytes", "growth_bytes", "slope_bytes_per_s", "slope_bytes_per_step"] as const;
type Quantity = (typeof QUANTITIES)[number];

/** The middle of the known values; null without any. */
function middle(runs: readonly MeasuredSeries[], quantity: Quantity): number | null {
  const known = runs.flatMap((series) => series[quantity] ?? []).sort((a, b) => a - b);
  const half = known.length / 2;
  return known.length === 0 ? null : (known[Math.ceil(half) - 1]! + known[Math.floor(half)]!) / 2;
}

/** The runs of each series with a known quantity, and how far each may lie from the middle of the accepted ones. */
function deviations(before: readonly MeasuredSeries[], now: readonly MeasuredSeries[], quantity: Quantity) {
  const [from, to] = [middle(before, quantity), middle(now, quantity)];
  const ordered = before.flatMap((series) => {
    const value = series[quantity] ?? null;
    return value === null ? [] : [{ series, value }];
  });
  if (from === null || to === null) return null;
  ordered.sort((a, b) => a.value - b.value);
  // A run differs from an accepted one by the difference of two runs, which is as likely to be positive as negative.
  const differences = ordered.map(({ value }, index) => value - (ordered.at(-1 - index)?.value ?? value));
  const far = Math.max(...ordered.map(({ value }) => Math.abs(value - from)));
  // Of n accepted runs the middle is nearer to the next one: sqrt(1 + 1/n) spreads instead of sqrt(2). A higher level
  // has at least the same spread in proportion.
  const scale = Math.sqrt((1 + 1 / now.length) / 2) * Math.max(1, Math.abs(to) / Math.max(Math.abs(from), far, 1));
  return { to, of: new Map(ordered.map(({ series }, index) => [series, scale * (differences[index] ?? 0)])) };
}

/**
 * Earlier runs that give an epoch of few runs its spread: those of the epoch before it. Each series is moved to the
 * level of the selected runs, around which its runs lie as two runs differ from each other. Empty once the current
 * epoch has enough runs of its own.
 */
export function earlierRuns(
  record: BaselineRecord,
  selected: readonly BaselineRun[],
  ancestors: ReadonlySet<string> | null,
): readonly MeasuredRun[] {
  const [current, earlier] = [record.epochs.at(-1), earlierEpoch(record, selected.length)];
  if (current === undefined || earlier === null) return [];
  const runs = selectRuns({ ...record, epochs: [earlier] }, ancestors).map((run) => measuredRunOf(run, earlier));
  if (runs.length < MIN_EPOCH_RUNS) return [];
  const nameOf = ({ rank, device, metric, phase }: MeasuredSeries) => JSON.stringify([rank, device, metric, phase]);
  const byName = (all: readonly MeasuredRun[]) =>
    groupBy(
      all.flatMap(({ series }) => series),
      nameOf,
    );
  const accepted = byName(selected.map((run) => measuredRunOf(run, current)));
  const levels = new Map(
    [...byName(runs)].map(([name, before]) => {
      const now = accepted.get(name) ?? [];
      return [
        name,
        {
          newest: now.at(-1),
          by: QUANTITIES.map((one) => [one, deviations(before, now, one)] as const),
        },
      ];
    }),
  );
  const moved = (series: MeasuredSeries): MeasuredSeries[] => {
    const { newest, by } = levels.get(nameOf(series)) ?? { newest: undefined, by: [] };
    if (newest === undefined) return [];
    const values = by.map(([quantity, level]) => {
      const deviation = level?.of.get(series);
      const there = level === null || deviation === undefined ? null : level.to + deviation;
      return [quantity, there !== null && quantity === "peak_bytes" ? Math.max(0, there) : there];
    });
    const { rank, device, metric, phase } = series;
    const drift = newest.class === undefined ? {} : { class: newest.class };
    const key = { rank, device, metric, ...(phase === undefined ? {} : { phase }) };
    return [{ ...key, ...Object.fromEntries(values), ...drift }];
  };
  return runs.map((run) => ({ ...run, series: run.series.flatMap(moved) }));
}

/** Selected runs of a record as measurements. */
export function toMeasurements(record: BaselineRecord, runs: readonly BaselineRun[]): Measurements {
  const epoch = record.epochs.at(-1);
  const keys = [...(epoch?.series ?? []), ...(epoch?.phases ?? [])];
  const unknown = unknownMetrics([...keys.map(([, , name]) => name), ...record.envelopes.map(({ metric }) => metric)]);
  return {
    scenario: record.scenario,
    fingerprint: record.fingerprint,
    runs: epoch === undefined ? [] : runs.map((run) => measuredRunOf(run, epoch)),
    ...(unknown.length === 0 ? {} : { unknown_metrics: unknown }),
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
