import { formatBytes, formatBytesDelta } from "../../core/units.ts";
import type {
  DeviceDifference,
  KindDifference,
  LineDifference,
  PoolDifference,
  SnapshotDifference,
} from "../../snapshot/live/peak-difference.ts";
import { sizeCell } from "../wording/wording.ts";
import {
  alignRows,
  type Cell,
  cell,
  clip,
  type Paint,
  painter,
  safe,
  usableWidth,
  wrapText,
} from "./terminal-table.ts";

const MAX_ROWS = 12;
/** Callers shown of the first line. */
const SHOWN_CALLERS = 4;

/** The output of `snapshot --diff`: for each device both peaks, the lines that differ, the rest, and the pools. */
export function renderDifferenceTerminal(
  document: SnapshotDifference,
  options: { readonly color: boolean; readonly width: number },
): string {
  const paint = painter(options.color);
  const width = usableWidth(options.width, 140);
  const sections = [
    [`${paint.bold(safe(document.before))}  →  ${paint.bold(safe(document.after))}`],
    ...document.devices.map((device) => deviceLines(device, paint, width)),
    document.notes.flatMap((note) => wrapText(`note: ${safe(note)}`, width, "  ").map(paint.dim)),
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n");
}

function deviceLines(device: DeviceDifference, paint: Paint, width: number): string[] {
  const { before_bytes: before, after_bytes: after, difference_bytes: difference } = device;
  const title = `Peak of ${safe(device.device)}: ${formatBytes(before)} → ${formatBytes(after)}, ${formatBytesDelta(difference)}`;
  const differing = device.lines.filter(({ difference_bytes: bytes }) => bytes !== 0);
  const shown = differing.slice(0, MAX_ROWS);
  const rest = differing.slice(MAX_ROWS);
  const names = ["difference", "before", "after", "line", ""];
  const rows: Cell[][] = [names.map((name) => cell(name, paint.dim)), ...shown.map((line) => lineCells(line, paint))];
  const others = [
    ...(rest.length === 0
      ? []
      : [`${formatBytesDelta(sumOf(rest))} in ${rest.length} more lines (--json has them all)`]),
    `${formatBytesDelta(device.unexplained_bytes)} not by line: rounding, and memory from before the history`,
  ];
  const callers = callersOf(shown[0]);
  return [
    paint.bold(title),
    ...alignRows(rows, [true, true, true, false, false]).map((line) => `  ${line}`),
    ...others.map((line) => paint.dim(`  ${line}`)),
    ...(callers === null
      ? []
      : wrapText(`first line called from ${callers}`, width - 2, "  ").map((line) => paint.dim(`  ${line}`))),
    ...kindLines("category", device.categories, paint),
    ...kindLines("allocated in", device.phases, paint),
    ...poolLines(device.pools, paint),
  ];
}

/** Nothing where the stacks show no kind. */
function kindLines(title: string, kinds: readonly KindDifference[], paint: Paint): string[] {
  if (kinds.every(({ name }) => name === null)) return [];
  const rows = kinds.map(({ name, before_bytes, after_bytes, difference_bytes }) => {
    const sizes = [formatBytesDelta(difference_bytes), formatBytes(before_bytes), formatBytes(after_bytes)];
    return [
      ...sizes.map((text) => cell(text)),
      cell(name === null ? "not shown by the stacks" : name.replaceAll("_", " ")),
    ];
  });
  const head = ["difference", "before", "after", title].map((name) => cell(name, paint.dim));
  return alignRows([head, ...rows], [true, true, true, false]).map((line) => `  ${line}`);
}

const sumOf = (lines: readonly LineDifference[]): number =>
  lines.reduce((sum, { difference_bytes: bytes }) => sum + bytes, 0);

function locationText({ file, line }: { readonly file: string; readonly line: number }): string {
  return safe(line > 0 ? `${file}:${line}` : file);
}

function lineCells(line: LineDifference, paint: Paint): Cell[] {
  const { difference_bytes: bytes, before_bytes: before, after_bytes: after, line_before: moved } = line;
  const color = bytes > 0 ? paint.red : paint.green;
  return [
    cell(formatBytesDelta(bytes), color),
    cell(before === 0 ? "–" : formatBytes(before)),
    cell(after === 0 ? "–" : formatBytes(after)),
    cell(`${clip(locationText(line), 60)}${moved === null ? "" : ` (line ${moved} before)`}`),
    cell(clip(safe(line.function), 40), paint.dim),
  ];
}

/** "model.py:40 ← train.py:12", the frames outside the line itself; null without any. */
function callersOf(line: LineDifference | undefined): string | null {
  if (line === undefined) return null;
  const own = line.stack.findIndex((frame) => frame.file === line.file && frame.line === line.line);
  const callers = own < 0 ? [] : line.stack.slice(own + 1, own + 1 + SHOWN_CALLERS);
  return callers.length === 0 ? null : callers.map(locationText).join(" ← ");
}

function poolLines(pools: readonly PoolDifference[], paint: Paint): string[] {
  if (pools.length === 0) return [];
  const names = ["pool", "reserved before", "after", "held free before", "after"];
  const rows: Cell[][] = pools.map((pool) => [
    cell(pool.pool === "0:0" ? "default" : safe(pool.pool)),
    cell(sizeCell(pool.before_reserved_bytes)),
    cell(sizeCell(pool.after_reserved_bytes)),
    cell(sizeCell(pool.before_held_free_bytes)),
    cell(sizeCell(pool.after_held_free_bytes)),
  ]);
  const table = alignRows([names.map((name) => cell(name, paint.dim)), ...rows], [false, true, true, true, true]);
  return table.map((line) => `  ${line}`);
}
