import { formatBytes, formatBytesDelta } from "../../core/units.ts";
import type { DeviceDifference, SnapshotDifference } from "../../snapshot/live/peak-difference.ts";
import { type DifferenceRow, differenceOf, peakRows, peakTitle, sideTables } from "../peaks/peak-rows.ts";
import { md, table } from "./markdown-text.ts";

/** The output of `snapshot --diff` as GitHub markdown: for each device both peaks, the lines that differ, the pools. */
export function renderPeaksMarkdown(document: SnapshotDifference): string {
  const sections = [
    `${md(document.before)} → ${md(document.after)}`,
    ...document.devices.flatMap(deviceSections),
    ...document.notes.map((note) => `Note: ${md(note)}`),
  ];
  return `${sections.join("\n\n")}\n`;
}

function deviceSections(device: DeviceDifference): readonly string[] {
  const rows = peakRows(device, 12).map(cells);
  return [
    `### ${md(peakTitle(device))}`,
    table(["difference", "before", "after", "line", "function"], ["r", "r", "r", "l", "l"], rows),
    ...sideTables(device).map(({ head, right, rows: sides }) =>
      table(
        head,
        right.map((one) => (one ? "r" : "l")),
        sides.map((row) => row.map((text, at) => (right[at] ? text : md(text)))),
      ),
    ),
  ];
}

function cells(row: DifferenceRow): string[] {
  const size = (bytes: number): string => (bytes === 0 ? "–" : formatBytes(bytes));
  return [formatBytesDelta(differenceOf(row)), size(row.before), size(row.after), md(row.name), md(row.function)];
}
