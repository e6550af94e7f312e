import { formatBytes, formatBytesDelta } from "../../core/units.ts";
import type { DeviceDifference, KindDifference, SnapshotDifference } from "../../snapshot/live/peak-difference.ts";
import { type DifferenceRow, differenceOf, peakRows } from "../peaks/peak-rows.ts";
import { sizeCell } from "../wording/wording.ts";
import { md, table } from "./markdown-text.ts";

const SIDES = ["before", "after"] as const;

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
  const { before_bytes: before, after_bytes: after, difference_bytes: difference, pools } = device;
  const title = `### Peak of ${md(device.device)}: ${formatBytes(before)} → ${formatBytes(after)}, ${formatBytesDelta(difference)}`;
  const rows = peakRows(device, 12).map(cells);
  const lines = table(["difference", ...SIDES, "line", "function"], ["r", "r", "r", "l", "l"], rows);
  const kinds = [kindTable("category", device.categories), kindTable("allocated in", device.phases)].flat();
  if (pools.length === 0) return [title, lines, ...kinds];
  const poolCells = pools.map((pool) => [
    pool.pool === "0:0" ? "default" : md(pool.pool),
    ...[pool.before_reserved_bytes, pool.after_reserved_bytes].map((bytes) => sizeCell(bytes)),
    ...[pool.before_held_free_bytes, pool.after_held_free_bytes].map((bytes) => sizeCell(bytes)),
  ]);
  const head = ["pool", "reserved before", "reserved after", "held free before", "held free after"];
  return [title, lines, ...kinds, table(head, ["l", "r", "r", "r", "r"], poolCells)];
}

/** Nothing where the stacks show no kind. */
function kindTable(title: string, kinds: readonly KindDifference[]): string[] {
  if (kinds.every(({ name }) => name === null)) return [];
  const rows = kinds.map(({ name, before_bytes, after_bytes, difference_bytes }) => {
    const sizes = [formatBytesDelta(difference_bytes), formatBytes(before_bytes), formatBytes(after_bytes)];
    return [...sizes, md(name === null ? "not shown by the stacks" : name.replaceAll("_", " "))];
  });
  return [table(["difference", ...SIDES, title], ["r", "r", "r", "l"], rows)];
}

function cells(row: DifferenceRow): string[] {
  const size = (bytes: number): string => (bytes === 0 ? "–" : formatBytes(bytes));
  return [formatBytesDelta(differenceOf(row)), size(row.before), size(row.after), md(row.name), md(row.function)];
}
