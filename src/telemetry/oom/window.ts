import type { Column, Recording, SampleTable } from "../recording/model.ts";

/** A span of a recording, nanoseconds since its time zero. */
export interface OomWindow {
  readonly fromNs: number;
  readonly toNs: number;
}

/** Time kept before an out-of-memory error, and after one that the run survived, nanoseconds. */
const BEFORE_NS = 10e9;
const AFTER_NS = 1e9;

/** Time of the last sample of any table; null when no table has a clock. */
function lastSample(recording: Recording): number | null {
  let last: number | null = null;
  for (const { timeNs } of recording.tables) {
    for (const time of timeNs ?? []) if (Number.isFinite(time) && (last === null || time > last)) last = time;
  }
  return last;
}

/** Ten seconds up to the error and one beyond it, or up to the last sample at an unknown time. Null without samples. */
export function oomWindow(recording: Recording, timeNs: number | null): OomWindow | null {
  const last = lastSample(recording);
  if (last === null) return null;
  const at = timeNs === null ? last : Math.min(timeNs, last);
  return { fromNs: Math.max(0, at - BEFORE_NS), toNs: Math.min(last, at + AFTER_NS) };
}

function rowsWithin(table: SampleTable, { fromNs, toNs }: OomWindow): SampleTable | null {
  const { timeNs } = table;
  if (timeNs === null) return null;
  const rows: number[] = [];
  for (const [row, time] of timeNs.entries()) if (time >= fromNs && time <= toNs) rows.push(row);
  if (rows.length === 0) return null;
  const pick = (values: Float64Array) => Float64Array.from(rows, (row) => values[row] ?? Number.NaN);
  const columns: Partial<Record<Column, Float64Array>> = {};
  for (const [name, values] of Object.entries(table.columns) as [Column, Float64Array][]) columns[name] = pick(values);
  const { atStep } = table;
  return {
    ...table,
    timeNs: pick(timeNs),
    steps: table.steps === null ? null : pick(table.steps),
    columns,
    ...(atStep === undefined ? {} : { atStep: Uint8Array.from(rows, (row) => atStep[row] ?? 0) }),
  };
}

/** All samples of the window at full rate, with times of the whole recording. */
export function cutToWindow(recording: Recording, window: OomWindow): Recording {
  return {
    ...recording,
    tables: recording.tables.map((table) => rowsWithin(table, window)).filter((table) => table !== null),
    marks: recording.marks.filter(({ timeNs }) => timeNs >= window.fromNs && timeNs <= window.toNs),
  };
}
