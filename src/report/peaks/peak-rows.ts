import { formatBytes, formatBytesDelta } from "../../core/units.ts";
import type { DeviceDifference, KindDifference, LineDifference } from "../../snapshot/live/peak-difference.ts";
import { sizeCell } from "../wording/wording.ts";

/** A part of two peaks. Bytes. The rows of a device add up to both peaks and to their difference. */
export interface DifferenceRow {
  readonly kind: "line" | "other-lines" | "no-line";
  /** "attention.py:88"; the file alone where the line is unknown. Not escaped. */
  readonly name: string;
  /** The function of a line; "" otherwise. Not escaped. */
  readonly function: string;
  readonly before: number;
  readonly after: number;
}

/** What two peaks consist of beside their lines. Names are not escaped. */
export interface SideTable {
  readonly head: readonly string[];
  /** Whether each column aligns right; the others have names. */
  readonly right: readonly boolean[];
  readonly rows: readonly (readonly string[])[];
}

/** The peaks by category and by phase, where the stacks show them, and by pool. */
export function sideTables({ categories, phases, pools }: DeviceDifference): readonly SideTable[] {
  const byKind = (title: string, kinds: readonly KindDifference[]): SideTable => ({
    head: ["difference", "before", "after", title],
    right: [true, true, true, false],
    rows: kinds.map(({ name, before_bytes, after_bytes, difference_bytes }) => [
      formatBytesDelta(difference_bytes),
      formatBytes(before_bytes),
      formatBytes(after_bytes),
      name === null ? "not shown by the stacks" : name.replaceAll("_", " "),
    ]),
  });
  const isShown = (kinds: readonly KindDifference[]): boolean => kinds.some(({ name }) => name !== null);
  const byPool: SideTable = {
    head: ["pool", "reserved before", "reserved after", "held free before", "held free after"],
    right: [false, true, true, true, true],
    rows: pools.map((pool) => [
      pool.pool === "0:0" ? "default" : pool.pool,
      sizeCell(pool.before_reserved_bytes),
      sizeCell(pool.after_reserved_bytes),
      sizeCell(pool.before_held_free_bytes),
      sizeCell(pool.after_held_free_bytes),
    ]),
  };
  return [
    ...(isShown(categories) ? [byKind("category", categories)] : []),
    ...(isShown(phases) ? [byKind("allocated in", phases)] : []),
    ...(pools.length === 0 ? [] : [byPool]),
  ];
}

/** "Peak of cuda:0: 1.00 GiB → 1.20 GiB, +0.20 GiB", the device not escaped. */
export const peakTitle = ({ device, before_bytes, after_bytes, difference_bytes }: DeviceDifference): string =>
  `Peak of ${device}: ${formatBytes(before_bytes)} → ${formatBytes(after_bytes)}, ${formatBytesDelta(difference_bytes)}`;

export const differenceOf = ({ before, after }: DifferenceRow): number => after - before;

const lineName = ({ file, line }: LineDifference): string => (line > 0 ? `${file}:${line}` : file);

/** The `most` lines that differ most, then all others as one row, and what no line has; empty rows are left out. */
export function peakRows(device: DeviceDifference, most: number): readonly DifferenceRow[] {
  const differing = device.lines.filter(({ difference_bytes: bytes }) => bytes !== 0);
  const shown = new Set(differing.slice(0, most));
  const others = device.lines.filter((line) => !shown.has(line));
  const sum = (lines: Iterable<LineDifference>, side: "before_bytes" | "after_bytes"): number =>
    [...lines].reduce((total, line) => total + line[side], 0);
  const rows: readonly DifferenceRow[] = [
    ...[...shown].map((line) => ({
      kind: "line" as const,
      name: lineName(line),
      function: line.function,
      before: line.before_bytes,
      after: line.after_bytes,
    })),
    {
      kind: "other-lines",
      name: `${others.length} other lines`,
      function: "",
      before: sum(others, "before_bytes"),
      after: sum(others, "after_bytes"),
    },
    {
      kind: "no-line",
      name: "not by line",
      function: "",
      before: device.before_bytes - sum(device.lines, "before_bytes"),
      after: device.after_bytes - sum(device.lines, "after_bytes"),
    },
  ];
  return rows.filter(({ before, after }) => before !== 0 || after !== 0);
}
