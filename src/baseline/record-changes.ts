import type { MeasuredRun, MeasuredSeries } from "../analysis/measurements.ts";
import type { Band } from "./band.ts";
import { BASELINE_SCHEMA, type BaselineEpoch, type BaselineRecord, type BaselineValue } from "./record.ts";

/** A run to be added to a record. */
export interface NewRun {
  readonly measured: MeasuredRun;
  readonly timeIso: string;
  readonly approved: boolean;
  /** The command it measured, as its fingerprint has it; absent or null = not known. */
  readonly command?: string | number | null | undefined;
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

type StoredSeriesKey = BaselineEpoch["series"][number];

const same = (a: StoredSeriesKey, b: StoredSeriesKey): boolean => a[0] === b[0] && a[1] === b[1] && a[2] === b[2];

type PhaseKey = NonNullable<BaselineEpoch["phases"]>[number];

const phaseKey = ({ rank, device, metric, phase = "" }: MeasuredSeries): PhaseKey => [rank, device, metric, phase];
const samePhase = (a: PhaseKey, b: PhaseKey): boolean => a.every((one, i) => one === b[i]);

/** The phases of an epoch, with those of a run that it lacks appended. */
function phaseKeys({ phases: known = [] }: BaselineEpoch, measured: readonly MeasuredSeries[]): PhaseKey[] {
  const keys = measured.map(phaseKey);
  return [...known, ...keys.filter((key) => !known.some((one) => samePhase(one, key)))];
}

/** The epoch with one more run. New series are appended. Those that it lacks, or whose samples end early, are null. */
function withRun(epoch: BaselineEpoch, run: NewRun): BaselineEpoch {
  const whole = run.measured.series.filter(({ cut }) => cut !== true);
  const measured = whole.filter(({ phase }) => phase === undefined);
  const keys: StoredSeriesKey[] = measured.map(({ rank, device, metric }) => [rank, device, metric]);
  const series = [...epoch.series, ...keys.filter((key) => !epoch.series.some((known) => same(known, key)))];
  const values = series.map((key) => {
    const found = measured.find(({ rank, device, metric }) => same(key, [rank, device, metric]));
    return found === undefined ? null : storedValue(found);
  });
  const { session, commit, steps, analysis_version } = run.measured;
  const time = `${run.timeIso.slice(0, 19)}Z`;
  const { approved } = run;
  const known = {
    ...(steps === undefined ? {} : { steps }),
    ...(analysis_version === undefined ? {} : { analysis_version }),
  };
  const added = { session, commit, time, approved, ...known, values };
  const phased = whole.filter(({ phase }) => phase !== undefined);
  if (phased.length === 0) return { ...epoch, series, runs: [...epoch.runs, added] };
  const phases = phaseKeys(epoch, phased);
  const inPhases = phases.map((key) => {
    const found = phased.find((one) => samePhase(key, phaseKey(one)));
    return found === undefined ? null : storedValue(found);
  });
  return { ...epoch, series, phases, runs: [...epoch.runs, { ...added, phases: inPhases }] };
}

/** A record of a scenario in an environment that has none yet. */
export function emptyRecord(scenario: string, fingerprint: BaselineRecord["fingerprint"]): BaselineRecord {
  return { schema: BASELINE_SCHEMA, scenario, fingerprint, epochs: [], envelopes: [] };
}

function openEpoch(runs: readonly NewRun[], reason: string): BaselineEpoch {
  const opened = runs[0]?.timeIso ?? "";
  return runs.reduce(withRun, { opened: opened === "" ? "" : `${opened.slice(0, 19)}Z`, reason, series: [], runs: [] });
}

/** The record with the command of its newest accepted runs. */
function madeBy(record: BaselineRecord, runs: readonly NewRun[]): BaselineRecord {
  const command = runs.find(({ approved }) => approved)?.command ?? null;
  return command === null ? record : { ...record, fingerprint: { ...record.fingerprint, command } };
}

/** Appends runs to the current epoch. The first runs open one. */
export function addRuns(before: BaselineRecord, runs: readonly NewRun[], reason = "refresh"): BaselineRecord {
  const record = madeBy(before, runs);
  const current = record.epochs.at(-1);
  if (current === undefined) return { ...record, epochs: [openEpoch(runs, reason)] };
  return { ...record, epochs: [...record.epochs.slice(0, -1), runs.reduce(withRun, current)] };
}

/** Accepts a new level: a new epoch with the accepted runs. The old one is kept, but not compared with. */
export function acceptRuns(record: BaselineRecord, runs: readonly NewRun[], reason: string): BaselineRecord {
  const accepted = runs.map((run) => ({ ...run, approved: true }));
  return { ...madeBy(record, accepted), epochs: [...record.epochs, openEpoch(accepted, reason)], envelopes: [] };
}

/** The record with the bands of its newest session. Without any, the earlier ones stay. */
export function withEnvelopes(record: BaselineRecord, envelopes: readonly Band[]): BaselineRecord {
  return envelopes.length === 0 ? record : { ...record, envelopes };
}
