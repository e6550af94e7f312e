import type { DeviceDifference, LineDifference } from "../../snapshot/live/peak-difference.ts";

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
