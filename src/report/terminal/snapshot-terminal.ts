import { formatBytes, formatBytesDelta, formatDuration } from "../../core/units.ts";
import type {
  DeviceDifference,
  KindDifference,
  LineDifference,
  SnapshotDifference,
} from "../../snapshot/live/peak-difference.ts";
import type { GrowthRow, LiveRow, PoolRow, SnapshotDocument, SurvivorRow } from "../../snapshot/live/tables.ts";
import type { Frame } from "../../snapshot/model/frames.ts";
import { sparkline } from "../wording/sparkline.ts";
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
/** Callers shown under the first growing line. */
const SHOWN_CALLERS = 4;

/** "train.py:48", or the file alone where the line is unknown. */
function locationText({ file, line }: Pick<Frame, "file" | "line">): string {
  return safe(line > 0 ? `${file}:${line}` : file);
}

const count = (n: number, one: string): string => `${n.toLocaleString("en-US")} ${one}${n === 1 ? "" : "s"}`;
const percent = (share: number | null): string => (share === null ? "–" : `${Math.round(100 * share)} %`);

interface View {
  readonly paint: Paint;
  readonly width: number;
  /** Columns for rank and device, where there is more than one of them. */
  readonly where: (row: { readonly rank: number | null; readonly device: string }) => Cell[];
  readonly whereNames: readonly string[];
}

/** The output of `snapshot`: growing lines, survivors of the trace, live memory by line, and pools. */
export function renderSnapshotTerminal(
  document: SnapshotDocument,
  options: { readonly color: boolean; readonly width: number },
): string {
  const paint = painter(options.color);
  const width = usableWidth(options.width, 140);
  const rows = [...document.live, ...document.pools];
  const ranks = new Set(rows.map(({ rank }) => rank)).size > 1;
  const devices = new Set(rows.map(({ device }) => device)).size > 1;
  const view: View = {
    paint,
    width,
    where: (row) => [
      ...(ranks ? [cell(row.rank === null ? "–" : `rank ${row.rank}`)] : []),
      ...(devices ? [cell(row.device)] : []),
    ],
    whereNames: [...(ranks ? ["rank"] : []), ...(devices ? ["device"] : [])],
  };
  return sectionsText([
    heading(document, paint),
    growthSection(document, view),
    survivorSection(document, view),
    liveSection(document.live, view),
    poolSection(document.pools, view),
    noteSection(document.notes, paint, width),
  ]);
}

function noteSection(notes: readonly string[], paint: Paint, width: number): string[] {
  return notes.flatMap((note) => wrapText(`note: ${safe(note)}`, width, "  ").map(paint.dim));
}

function sectionsText(sections: readonly (readonly string[])[]): string {
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n");
}

function heading({ snapshots, root }: SnapshotDocument, paint: Paint): string[] {
  const lines = snapshots.map((one) => {
    const facts = [
      ...(one.rank === null ? [] : [`rank ${one.rank}`]),
      ...(one.step === null ? [] : [`step ${one.step}`]),
      `${formatBytes(one.allocated_bytes)} allocated of ${formatBytes(one.reserved_bytes)} reserved`,
      one.trace_entries === 0 ? "no trace" : count(one.trace_entries, "trace entry").replace("entrys", "entries"),
    ];
    return `${paint.bold(safe(one.snapshot))}  ${facts.join(", ")}`;
  });
  const out = snapshots.flatMap((one) =>
    one.out_of_memory.map(({ requested_bytes, free_bytes }) =>
      paint.red(`  out of memory: ${sizeCell(requested_bytes)} requested, ${sizeCell(free_bytes)} free on the device`),
    ),
  );
  return [...lines, ...out, ...(root === null ? [] : [paint.dim(`  files below ${safe(root)}`)])];
}

/** A title, a table with its header, and the number of rows left out. */
function tableSection(
  title: string,
  names: readonly string[],
  right: readonly boolean[],
  rows: readonly Cell[][],
  view: View,
): string[] {
  const { paint } = view;
  const header = [...view.whereNames, ...names].map((name) => cell(name, paint.dim));
  const aligned = [...view.whereNames.map(() => false), ...right];
  const shown = rows.slice(0, MAX_ROWS);
  const more = rows.length - shown.length;
  return [
    paint.bold(title),
    ...alignRows([header, ...shown], aligned).map((line) => `  ${line}`),
    ...(more > 0 ? [paint.dim(`  and ${more} more (--json has them all)`)] : []),
  ];
}

function growthSection({ growth, discarded, snapshots, survivors }: SnapshotDocument, view: View): string[] {
  const { paint, width } = view;
  if (snapshots.length < 2) return [];
  const ranks = new Set(snapshots.map(({ rank }) => rank));
  if (ranks.size === snapshots.length) return ["Nothing can be compared: there is one snapshot of each rank.", ""];
  const lines: string[] = [];
  if (growth.length === 0) {
    // What survives in the trace of one snapshot may grow all the same.
    if (!survivors.some(({ trend }) => trend === "grows"))
      lines.push(paint.green("No line grows over these snapshots."));
  } else {
    const proven = growth.some(({ trend }) => trend === "grows");
    lines.push(
      ...tableSection(
        proven ? "Lines that grow" : "Lines that ended higher (not proven to grow)",
        ["growth", "per step", "share", "blocks", "line", ""],
        [true, true, true, true, false, false],
        growth.map((row) => growthCells(row, view)),
        view,
      ),
    );
    lines.push(...callerLines(growth[0], paint, width));
  }
  if (discarded.length > 0) {
    const listed = discarded.slice(0, 4).map((row) => {
      const why = row.trend === "once" ? "allocated once" : "fluctuates";
      return `${locationText(row)} ${formatBytesDelta(row.growth_bytes)} (${why})`;
    });
    const more = discarded.length - listed.length;
    const text = `higher, but not growing: ${listed.join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
    lines.push(...dimmed(text, paint, width));
  }
  if (snapshots.length === 2) lines.push(...dimmed("--diff compares the peaks of both by line", paint, width));
  return lines;
}

/** The frames outside the line itself, innermost first; nothing without any. */
function callerLines(row: GrowthRow | LineDifference | undefined, paint: Paint, width: number): string[] {
  const own = row?.stack.findIndex(({ file, line }) => file === row.file && line === row.line) ?? -1;
  const callers = own < 0 ? [] : (row?.stack.slice(own + 1, own + 1 + SHOWN_CALLERS) ?? []);
  if (callers.length === 0) return [];
  return dimmed(`first line called from ${callers.map(locationText).join(" ← ")}`, paint, width);
}

const dimmed = (text: string, paint: Paint, width: number): string[] =>
  wrapText(text, width - 2, "  ").map((line) => paint.dim(`  ${line}`));

function growthCells(row: GrowthRow, { where, paint }: View): Cell[] {
  const color = row.trend === "grows" ? (text: string) => paint.bold(paint.red(text)) : paint.yellow;
  const label = row.trend === "grows" ? safe(row.function) : `${safe(row.function)} (unproven)`;
  return [
    ...where(row),
    cell(formatBytesDelta(row.growth_bytes), color),
    cell(row.bytes_per_step === null ? "–" : formatBytesDelta(row.bytes_per_step)),
    cell(percent(row.share)),
    cell(row.blocks_growth > 0 ? `+${row.blocks_growth}` : String(row.blocks_growth)),
    cell(clip(locationText(row), 60), color),
    cell(clip(label, 40), paint.dim),
  ];
}

function survivorSection({ survivors }: SnapshotDocument, view: View): string[] {
  const { paint, where } = view;
  const adding = survivors.filter(({ trend }) => trend === "grows");
  const rows = [...adding, ...survivors.filter(({ trend }) => trend !== "grows")].map((row): Cell[] => [
    ...where(row),
    cell(formatBytes(row.surviving_bytes), row.trend === "grows" ? paint.red : undefined),
    cell(`${row.survivors} of ${row.allocations}`),
    cell(ageText(row)),
    // Without a letter for an age at which nothing survived.
    cell(
      sparkline(
        row.surviving_bytes_by_age.map((bytes) => bytes || Number.NaN),
        row.surviving_bytes_by_age.length,
      ),
    ),
    cell(clip(locationText(row), 60)),
    cell(row.trend === "grows" ? "keeps growing" : "", paint.red),
  ]);
  if (rows.length === 0) return [];
  return tableSection(
    "Allocated during the trace and still alive",
    ["size", "alive", "oldest", "by age", "line", ""],
    [true, true, true, false, false, false],
    rows,
    view,
  );
}

function ageText({ oldest_s, oldest_steps }: SurvivorRow): string {
  if (oldest_steps !== null) return count(oldest_steps, "step");
  return oldest_s === null ? "–" : formatDuration(oldest_s);
}

function liveSection(live: readonly LiveRow[], view: View): string[] {
  if (live.length === 0) return [];
  const pending = live.some(({ pending_free_bytes }) => pending_free_bytes > 0);
  const rows = live.map((row): Cell[] => [
    ...view.where(row),
    cell(formatBytes(row.bytes), view.paint.bold),
    cell(String(row.blocks)),
    cell(formatBytes(row.largest_block_bytes)),
    ...(pending ? [cell(row.pending_free_bytes > 0 ? formatBytes(row.pending_free_bytes) : "")] : []),
    cell(`← ${clip(locationText(row), 60)}`),
    cell(clip(safe(row.function), 40), view.paint.dim),
  ]);
  return tableSection(
    "Largest live by line",
    ["size", "blocks", "largest", ...(pending ? ["pending free"] : []), "line", ""],
    [true, true, true, ...(pending ? [true] : []), false, false],
    rows,
    view,
  );
}

function poolSection(pools: readonly PoolRow[], view: View): string[] {
  if (pools.length === 0) return [];
  const rows = pools.map((row): Cell[] => [
    ...view.where(row),
    cell(row.pool === "0:0" ? "default" : safe(row.pool)),
    cell(formatBytes(row.reserved_bytes)),
    cell(formatBytes(row.allocated_bytes)),
    cell(sizeCell(row.rounding_bytes)),
    cell(formatBytes(row.pending_free_bytes)),
    cell(formatBytes(row.inactive_bytes)),
    cell(formatBytes(row.largest_inactive_bytes)),
    cell(formatBytes(row.releasable_bytes)),
    cell(percent(row.fragmentation), (row.fragmentation ?? 0) > 0.5 ? view.paint.yellow : undefined),
  ]);
  return tableSection(
    "Pools",
    ["pool", "reserved", "allocated", "rounding", "pending", "free", "largest free", "releasable", "fragmented"],
    [false, true, true, true, true, true, true, true, true],
    rows,
    view,
  );
}

/** The output of `snapshot --diff`: for each device both peaks, the lines that differ, the rest, and the pools. */
export function renderDifferenceTerminal(
  document: SnapshotDifference,
  options: { readonly color: boolean; readonly width: number },
): string {
  const paint = painter(options.color);
  const width = usableWidth(options.width, 140);
  return sectionsText([
    [`${paint.bold(safe(document.before))}  →  ${paint.bold(safe(document.after))}`],
    ...document.devices.map((device) => deviceLines(device, paint, width)),
    noteSection(document.notes, paint, width),
  ]);
}

/** What two peaks consist of beside their lines. Names are not escaped. */
interface SideTable {
  readonly head: readonly string[];
  /** Whether each column aligns right; the others have names. */
  readonly right: readonly boolean[];
  readonly rows: readonly (readonly string[])[];
}

/** The peaks by category and by phase, where the stacks show them, and by pool. */
function sideTables({ categories, phases, pools }: DeviceDifference): readonly SideTable[] {
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
const peakTitle = ({ device, before_bytes, after_bytes, difference_bytes }: DeviceDifference): string =>
  `Peak of ${device}: ${formatBytes(before_bytes)} → ${formatBytes(after_bytes)}, ${formatBytesDelta(difference_bytes)}`;

function deviceLines(device: DeviceDifference, paint: Paint, width: number): string[] {
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
  return [
    paint.bold(safe(peakTitle(device))),
    ...alignRows(rows, [true, true, true, false, false]).map((line) => `  ${line}`),
    ...others.map((line) => paint.dim(`  ${line}`)),
    ...callerLines(shown[0], paint, width),
    ...sideTables(device).flatMap(({ head, right, rows: cells }) => {
      const lines = [
        head.map((name) => cell(name, paint.dim)),
        ...cells.map((row) => row.map((text) => cell(safe(text)))),
      ];
      return alignRows(lines, right).map((line) => `  ${line}`);
    }),
  ];
}

const sumOf = (lines: readonly LineDifference[]): number =>
  lines.reduce((sum, { difference_bytes: bytes }) => sum + bytes, 0);

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
