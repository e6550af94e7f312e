import { groupBy } from "../../core/group-by.ts";
import { METRIC, METRICS, type Metric } from "../../telemetry/recording/metrics.ts";
import type { Column, Recording, SampleTable } from "../../telemetry/recording/model.ts";

/** One metric of one rank on one device, with all samples in table order; missing values are NaN. */
export interface MetricSeries {
  readonly rank: number;
  readonly device: string;
  readonly metric: Metric;
  /** Judged by records: a running maximum by construction, or nearly so. */
  readonly highwater: boolean;
  readonly timeNs: Float64Array | null;
  readonly steps: Float64Array | null;
  readonly bytes: Float64Array;
  /** When the first of several steps of the rank began: what was read earlier shows the start. Absent = unknown. */
  readonly loopFromNs?: number;
  /** Whether the record keeps only some of the readings. */
  readonly thinned: boolean;
  /** Device capacity, bytes; null when the recording does not contain it. */
  readonly totalBytes: number | null;
}

/** Points of a chart. `timeS` is seconds since the recording's zero, or the sample's index without a clock. */
export interface ChartSeries {
  readonly rank: number;
  readonly device: string;
  readonly metric: Metric;
  readonly timeS: Float64Array;
  /** Step of each sample with the share of it that had passed; NaN outside steps. Null if steps do not ascend. */
  readonly steps: Float64Array | null;
  readonly bytes: Float64Array;
}

export interface TableGroup {
  readonly rank: number;
  readonly device: string;
  readonly tables: readonly SampleTable[];
}

const sum = (values: Float64Array | undefined): number => {
  let total = 0;
  if (values) for (const value of values) if (!Number.isNaN(value)) total += value;
  return total;
};

/** An order of tables by content alone, so that the order of input files cannot change a result. */
function compareTables(a: SampleTable, b: SampleTable): number {
  const first = (values: Float64Array | null) => values?.find((value) => Number.isFinite(value)) ?? 0;
  return (
    first(a.timeNs) - first(b.timeNs) ||
    first(a.steps) - first(b.steps) ||
    tableLength(a) - tableLength(b) ||
    METRICS.reduce((difference, metric) => difference || sum(a.columns[metric]) - sum(b.columns[metric]), 0)
  );
}

/** Number of rows of a table. */
export function tableLength(table: SampleTable): number {
  return table.timeNs?.length ?? table.steps?.length ?? Object.values(table.columns)[0]?.length ?? 0;
}

export function groupTables(tables: readonly SampleTable[]): TableGroup[] {
  return [...groupBy(tables, ({ rank, device }) => `${rank} ${device}`).values()]
    .map((group) => ({ rank: group[0]!.rank, device: group[0]!.device, tables: [...group].sort(compareTables) }))
    .sort(compareKeys);
}

/** Rank, then device, then metric: an order that does not depend on the order of the input. */
export function compareKeys(a: SortKey, b: SortKey): number {
  const orderOf = ({ metric }: SortKey) => (metric ? METRICS.indexOf(metric) : 0);
  return a.rank - b.rank || (a.device < b.device ? -1 : a.device > b.device ? 1 : 0) || orderOf(a) - orderOf(b);
}

interface SortKey {
  readonly rank: number;
  readonly device: string;
  readonly metric?: Metric | null;
}

/** One column over all tables of a group: the column itself of a single table, else a copy with NaN for gaps. */
export function joinColumn(
  tables: readonly SampleTable[],
  pick: (table: SampleTable) => Float64Array | null | undefined,
): Float64Array | null {
  const [only] = tables;
  if (tables.length === 1 && only) return pick(only) ?? null;
  if (!tables.some((table) => pick(table))) return null;
  const joined = new Float64Array(tables.reduce((length, table) => length + tableLength(table), 0)).fill(Number.NaN);
  let offset = 0;
  for (const table of tables) {
    const values = pick(table);
    if (values) joined.set(values, offset);
    offset += tableLength(table);
  }
  return joined;
}

/** Whether the record of a long run keeps only some of its readings. */
export const isThinned = ({ tables }: Recording): boolean => tables.some(({ columns }) => columns.ticks !== undefined);

const columnOf =
  (column: Column) =>
  (table: SampleTable): Float64Array | undefined =>
    table.columns[column];

/** The tables with a metric. Sources with clocks of their own have tables of their own. */
export const tablesWith = (tables: readonly SampleTable[], metric: Metric): readonly SampleTable[] =>
  tables.filter((table) => table.columns[metric] !== undefined);

/**
 * Samples of equal phase from this number on form a series, which is the minimum of any series. Within a step live
 * memory rises and falls by the step's working memory, and a timer samples it at any phase.
 */
const ENOUGH_AT_STEP = 24;

/**
 * ... unless the time after them is longer than their own span and than the end of a program. Then the loop was only a
 * part of the run. Nanoseconds.
 */
const ENDING_NS = 2e9;

/** The rows that the measured process recorded at the ends of its steps, or the table itself if they are too few. */
function equalPhase(table: SampleTable, metric: Metric): SampleTable {
  const { atStep, columns, timeNs, steps } = table;
  const values = columns[metric];
  if (atStep === undefined || values === undefined || steps === null) return table;
  const rows: number[] = [];
  for (let i = 0; i < values.length; i++) if (atStep[i] === 1 && Number.isFinite(values[i]!)) rows.push(i);
  const [first] = rows;
  const last = rows.at(-1);
  if (rows.length < ENOUGH_AT_STEP || first === undefined || last === undefined) return table;
  if (timeNs !== null) {
    const rest = timeNs[timeNs.length - 1]! - timeNs[last]!;
    if (rest > Math.max(ENDING_NS, timeNs[last]! - timeNs[first]!)) return table;
  }
  const pick = (from: Float64Array) => Float64Array.from(rows, (row) => from[row]!);
  return {
    rank: table.rank,
    device: table.device,
    timeNs: timeNs && pick(timeNs),
    steps: pick(steps),
    columns: { [metric]: pick(values) },
    highwater: table.highwater,
  };
}

/** Largest finite value of a column, else null. Capacity can only be reported too low (a MIG slice, a limit). */
export function largest(values: Float64Array | null): number | null {
  let max = Number.NEGATIVE_INFINITY;
  if (values) {
    // By index: the iterator takes three times as long, and this loop runs over every sample.
    for (let i = 0; i < values.length; i++) {
      const value = values[i]!;
      if (value > max && value < Number.POSITIVE_INFINITY) max = value;
    }
  }
  return max === Number.NEGATIVE_INFINITY ? null : max;
}

interface Joined {
  readonly timeNs: Float64Array | null;
  readonly steps: Float64Array | null;
  readonly bytes: Float64Array;
}

/** Columns over the tables that have them. Metrics of the same tables share the arrays of clock and steps. */
function joiner(): (tables: readonly SampleTable[], metric: Metric) => Joined | null {
  const axes = new Map<string, Pick<Joined, "timeNs" | "steps">>();
  const numbers = new Map<SampleTable, number>();
  const numberOf = (table: SampleTable): number => {
    const known = numbers.get(table) ?? numbers.size;
    numbers.set(table, known);
    return known;
  };
  return (tables, metric) => {
    const bytes = joinColumn(tables, columnOf(metric));
    if (bytes === null) return null;
    const key = tables.map(numberOf).join();
    let axis = axes.get(key);
    if (axis === undefined) {
      axis = {
        timeNs: joinColumn(tables, (table) => table.timeNs),
        steps: joinColumn(tables, (table) => table.steps),
      };
      axes.set(key, axis);
    }
    return { ...axis, bytes };
  };
}

/** When the first step of a rank's tables began; null without a second one. */
function loopBegin(tables: readonly SampleTable[]): number | null {
  let [begin, first, isLoop] = [Number.POSITIVE_INFINITY, Number.NaN, false];
  for (const { timeNs, steps } of tables) {
    const from = steps?.findIndex(Number.isFinite) ?? -1;
    if (timeNs === null || steps === null || from < 0) continue;
    begin = Math.min(begin, timeNs[from]!);
    if (Number.isNaN(first)) first = steps[from]!;
    isLoop ||= steps.some((step) => Number.isFinite(step) && step !== first);
  }
  return isLoop && Number.isFinite(begin) ? begin : null;
}

function seriesFrom(recording: Recording, rowsOf: (table: SampleTable, metric: Metric) => SampleTable): MetricSeries[] {
  const all: MetricSeries[] = [];
  const thinned = isThinned(recording);
  const loops = new Map(
    [...groupBy(recording.tables, ({ rank }) => rank)].map(([rank, own]) => [rank, loopBegin(own)]),
  );
  for (const { rank, device, tables } of groupTables(recording.tables)) {
    const totalBytes = largest(joinColumn(tables, columnOf("total")));
    const join = joiner();
    for (const metric of METRICS) {
      const joined = join(
        tablesWith(tables, metric).map((table) => rowsOf(table, metric)),
        metric,
      );
      if (joined === null) continue;
      const highwater = METRIC[metric].isHighwater || tables.some((table) => table.highwater.has(metric));
      const loopFromNs = loops.get(rank) ?? null;
      const loop = loopFromNs === null ? {} : { loopFromNs };
      all.push({ rank, device, metric, highwater, ...joined, ...loop, thinned, totalBytes });
    }
  }
  return all;
}

/**
 * All series of the recording, ordered by rank, device and metric. If the measured process recorded its live memory at
 * the end of each step, only those samples form the series of `allocated`.
 */
export function collectSeries(recording: Recording): MetricSeries[] {
  // Live memory falls at the end of a step. Memory that an allocator keeps, or a device shows, does not.
  return seriesFrom(recording, (table, metric) => (metric === "allocated" ? equalPhase(table, metric) : table));
}

/** The recording's series for charts: all usable samples, ascending in time. */
export function seriesOf(recording: Recording): ChartSeries[] {
  return seriesFrom(recording, (table) => table).map(({ rank, device, metric, timeNs, steps, bytes }) => {
    let kept = 0;
    const usable = (i: number) => Number.isFinite(bytes[i]!) && (timeNs === null || Number.isFinite(timeNs[i]!));
    for (let i = 0; i < bytes.length; i++) if (usable(i)) kept++;
    const timeS = new Float64Array(kept);
    const values = new Float64Array(kept);
    const numbers = steps && new Float64Array(kept);
    let sorted = true;
    for (let i = 0, k = 0; i < bytes.length; i++) {
      if (!usable(i)) continue;
      timeS[k] = timeNs ? timeNs[i]! / 1e9 : i;
      values[k] = bytes[i]!;
      if (numbers) numbers[k] = steps[i]!;
      if (k > 0 && timeS[k]! < timeS[k - 1]!) sorted = false;
      k++;
    }
    const key = { rank, device, metric };
    if (sorted) return { ...key, timeS, steps: numbers && stepPositions(timeS, numbers), bytes: values };
    const order = Uint32Array.from(timeS.keys()).sort((a, b) => timeS[a]! - timeS[b]! || a - b);
    const arrange = (column: Float64Array) => Float64Array.from(order, (i) => column[i]!);
    const arranged = arrange(timeS);
    return {
      ...key,
      timeS: arranged,
      steps: numbers && stepPositions(arranged, arrange(numbers)),
      bytes: arrange(values),
    };
  });
}

/**
 * The step of each sample with the share of it that had passed, so that samples within one step have places of their
 * own. The last step is as long as the one before it. Null with fewer than two steps, or where a number falls.
 */
export function stepPositions(timeS: Float64Array, steps: Float64Array): Float64Array | null {
  const positions = new Float64Array(steps.length).fill(Number.NaN);
  const starts: number[] = [];
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i]!;
    if (!Number.isFinite(step)) continue;
    const before = starts.length === 0 ? Number.NEGATIVE_INFINITY : steps[starts[starts.length - 1]!]!;
    if (step < before) return null;
    if (step > before) starts.push(i);
  }
  if (starts.length < 2) return null;
  let seconds = 0;
  starts.forEach((from, n) => {
    const next = starts[n + 1];
    if (next !== undefined) seconds = timeS[next]! - timeS[from]!;
    const width = next === undefined ? 1 : steps[next]! - steps[from]!;
    for (let i = from; i < (next ?? steps.length); i++) {
      if (!Number.isFinite(steps[i]!)) continue;
      const share = seconds > 0 ? Math.min(1, (timeS[i]! - timeS[from]!) / seconds) : 0;
      positions[i] = steps[from]! + share * width;
    }
  });
  return positions;
}
