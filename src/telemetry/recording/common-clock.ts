import { groupBy } from "../../core/group-by.ts";
import type { Column, SampleTable } from "./model.ts";

/** A sample is valid until the next one, but at most for this long, when its source stopped. Nanoseconds. */
const HOLD_NS = 2e9;

/** Last known value at or before each time, NaN where older than {@link HOLD_NS} or missing. Both clocks ascend. */
export function heldAt(timeNs: Float64Array, values: Float64Array, at: Float64Array): Float64Array {
  const held = new Float64Array(at.length).fill(Number.NaN);
  let next = 0;
  let value = Number.NaN;
  let since = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < at.length; i++) {
    for (; next < timeNs.length && timeNs[next]! <= at[i]!; next++) {
      if (Number.isNaN(values[next]!)) continue;
      value = values[next]!;
      since = timeNs[next]!;
    }
    if (at[i]! - since <= HOLD_NS) held[i] = value;
  }
  return held;
}

/** The first of `length` ascending items that is not before, else their number. */
export function firstIndex(length: number, isBefore: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Index of the first of ascending times that is later than `time`, else their number. */
export const firstAfter = (times: Float64Array, time: number): number =>
  firstIndex(times.length, (i) => times[i]! <= time);

function ascending(timeNs: Float64Array): boolean {
  for (let i = 1; i < timeNs.length; i++) if (!(timeNs[i]! >= timeNs[i - 1]!)) return false;
  return true;
}

/** All times of several clocks without duplicates, ascending. */
function union(clocks: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(clocks.reduce((length, clock) => length + clock.length, 0));
  let filled = 0;
  for (const clock of clocks) {
    all.set(clock, filled);
    filled += clock.length;
  }
  all.sort();
  let kept = 0;
  for (let i = 0; i < all.length; i++) if (i === 0 || all[i] !== all[kept - 1]) all[kept++] = all[i]!;
  return all.slice(0, kept);
}

/**
 * Joins tables of one rank and device with disjoint columns: a row for every time of any, values valid until the next.
 * Null when a column is in two tables, or a clock is missing or runs backwards.
 */
export function onCommonClock(tables: readonly SampleTable[]): SampleTable | null {
  const [first] = tables;
  if (first === undefined) return null;
  if (tables.length === 1) return first;
  const clocks: Float64Array[] = [];
  const owners = new Map<Column, { readonly timeNs: Float64Array; readonly values: Float64Array }>();
  for (const { timeNs, columns } of tables) {
    if (timeNs === null || !ascending(timeNs)) return null;
    clocks.push(timeNs);
    for (const [column, values] of Object.entries(columns) as [Column, Float64Array][]) {
      if (owners.has(column)) return null;
      owners.set(column, { timeNs, values });
    }
  }
  const timeNs = union(clocks);
  const columns: Partial<Record<Column, Float64Array>> = {};
  for (const [column, owner] of owners) columns[column] = heldAt(owner.timeNs, owner.values, timeNs);
  return {
    rank: first.rank,
    device: first.device,
    timeNs,
    steps: null,
    columns,
    highwater: new Set(tables.flatMap(({ highwater }) => [...highwater])),
  };
}

/** The tables of a recording, those of one rank and device joined where possible. */
export function combinedTables(tables: readonly SampleTable[]): SampleTable[] {
  const groups = groupBy(tables, ({ rank, device }) => `${rank} ${device}`);
  return [...groups.values()].flatMap((group) => onCommonClock(group) ?? group);
}

/** The largest known value; null when none is known. */
export function largestOf(values: Iterable<number>): number | null {
  let largest: number | null = null;
  for (const value of values) if (value > (largest ?? Number.NEGATIVE_INFINITY)) largest = value;
  return largest;
}

/** The columns that have a value. */
export function knownColumns(
  columns: Readonly<Partial<Record<Column, Float64Array | null | undefined>>>,
): Partial<Record<Column, Float64Array>> {
  return Object.fromEntries(
    Object.entries(columns).filter(([, values]) => values?.some((value) => !Number.isNaN(value))),
  ) as Partial<Record<Column, Float64Array>>;
}
