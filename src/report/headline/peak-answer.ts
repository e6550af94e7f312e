import { formatBytes, formatBytesDelta, formatShort } from "../../core/units.ts";
import type { PeakReport, PeakRow } from "../model/peak-report.ts";
import type { TextTable } from "../wording/wording.ts";

/** "optimizer state" of `optimizer_state`. */
const categoryName = (name: string): string => name.replaceAll("_", " ");

/** Smallest part of the difference that is mentioned. */
const MIN_PART = 0.05;
const MAX_PARTS = 3;
/** A category is named with its line where that has most of it. */
const MIN_OF_CATEGORY = 0.5;

/** A part of what makes a peak higher. Texts are the program's: escape them where they are printed. */
export interface HigherPart {
  readonly bytes: number;
  /** "activations"; null where no category is seen. */
  readonly category: string | null;
  /** "attention.py:88"; null where no line has most of it. */
  readonly location: string | null;
}

const more = ({ bytes, compared_bytes: compared }: Pick<PeakRow, "bytes" | "compared_bytes">): number =>
  bytes - (compared ?? 0);

/** What makes a peak higher than the one it is compared with, the largest first; empty without a comparison. */
export function higherParts(peak: PeakReport | undefined): readonly HigherPart[] {
  if (peak?.compared_bytes == null) return [];
  const difference = peak.bytes - peak.compared_bytes;
  const isPart = (row: PeakRow): boolean => more(row) >= MIN_PART * difference;
  const lines = peak.lines.filter(({ name }) => name.includes(":"));
  if (peak.categories.length === 0) {
    return lines
      .filter(isPart)
      .slice(0, MAX_PARTS)
      .map((line) => ({ bytes: more(line), category: null, location: line.name }));
  }
  return peak.categories
    .filter(isPart)
    .slice(0, MAX_PARTS)
    .map((row) => {
      const line = lines.find(({ category }) => category === row.name);
      const isMost = line !== undefined && more(line) >= MIN_OF_CATEGORY * more(row);
      return { bytes: more(row), category: categoryName(row.name), location: isMost ? line.name : null };
    });
}

/** "+131 MiB activations at attention.py:88, +18.0 MiB optimizer state". */
export function higherText(parts: readonly HigherPart[], location: (text: string) => string): string {
  return parts
    .map(({ bytes, category, location: at }) => {
      const what = category === null ? "" : ` ${category}`;
      return `+${formatShort(bytes)}${what}${at === null ? "" : ` at ${location(at)}`}`;
    })
    .join(", ");
}

const cellsOf = (row: Pick<PeakRow, "bytes" | "compared_bytes">): readonly string[] => [
  formatBytes(row.bytes),
  ...(row.compared_bytes === null ? [] : [formatBytes(row.compared_bytes), formatBytesDelta(more(row))]),
];

/**
 * What the rows leave of the judged peak. They may be more: samples of the judged runs miss what is shorter than their
 * distance, the allocator's own record does not.
 */
function rest(peak: PeakReport, rows: readonly PeakRow[]): PeakRow {
  const sum = (of: (row: PeakRow) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const compared = peak.compared_bytes;
  const bytes = peak.bytes - sum((row) => row.bytes);
  return {
    name: bytes < 0 ? "above the highest sample" : "unexplained",
    bytes,
    compared_bytes: compared === null ? null : compared - sum((row) => row.compared_bytes ?? 0),
  };
}

/** The peak by category and by phase, each with what is unexplained, and by line. */
export function peakTables(peak: PeakReport): readonly TextTable[] {
  const { compared_with: other } = peak;
  const tableOf = (title: string, rows: readonly PeakRow[]): TextTable => ({
    head: [title, "this change", ...(other === null ? [] : [other, "difference"])],
    rows: rows.map((row) => [row.name, ...cellsOf(row)]),
  });
  const named = peak.categories.map((row) => ({ ...row, name: categoryName(row.name) }));
  const phases = peak.phases.map((row) => ({ ...row, name: row.name === "" ? "outside of any phase" : row.name }));
  const hasPhases = phases.length > 1;
  return [
    ...(named.length === 0 ? [] : [tableOf("category", [...named, rest(peak, named)])]),
    ...(hasPhases ? [tableOf("allocated in", [...phases, rest(peak, phases)])] : []),
    tableOf(
      "line",
      peak.lines.map((line) => ({ ...line, name: line.function === "" ? line.name : `${line.name} ${line.function}` })),
    ),
  ];
}

/** What the tables do not contain, and what else differs; not escaped. */
export function peakNotes(peak: PeakReport): readonly string[] {
  const unseen = peak.unseen.map(categoryName).join(", ");
  return [
    ...(peak.compared_with === null ? ["There was no other peak to compare with."] : []),
    ...(peak.categories.length === 0 ? ["The categories of this program's memory are unknown."] : []),
    ...(peak.categories.length === 0 || unseen === ""
      ? []
      : [`Categories that could not be recognised, and are in other rows: ${unseen}.`]),
    ...(peak.device === "host"
      ? []
      : ["Categories of device memory are inferred from when it is allocated and released."]),
    ...peak.inputs.map(({ name, value, compared }) => `${name}: ${compared ?? "none"} -> ${value ?? "none"}`),
  ];
}

/** The rows of a stacked bar: categories, else lines; with what is unexplained or has no line. */
export function stackedRows(peak: PeakReport): readonly PeakRow[] {
  const rows =
    peak.categories.length > 0
      ? peak.categories.map((row) => ({ ...row, name: categoryName(row.name) }))
      : peak.lines.map(({ name, bytes, compared_bytes }) => ({ name, bytes, compared_bytes }));
  const shown = rows.slice(0, 7);
  const other = rest(peak, shown);
  return [...shown, { ...other, name: "other" }].filter((row) => row.bytes > 0 || (row.compared_bytes ?? 0) > 0);
}
