import {
  type AnalysisDocument,
  type DriftClass,
  type RanksAnalysis,
  type SeriesAnalysis,
  stepNoun,
} from "../../analysis/series/document.ts";
import { plural } from "../../core/text.ts";
import { formatDuration } from "../../core/units.ts";
import { formatSize } from "../../telemetry/recording/metrics.ts";
import { seriesLabel, sizeCell } from "../wording/wording.ts";
import { findingLines } from "./details.ts";
import { alignRows, type Cell, cell, clip, type Paint, painter, safe, usableWidth } from "./terminal-table.ts";

/** The output of `analyze`: one row per series, then the findings, diagnosis, ranks and missing values. */
export function renderAnalysisTerminal(
  document: AnalysisDocument,
  options: { readonly color: boolean; readonly width: number },
): string {
  const paint = painter(options.color);
  const width = usableWidth(options.width, 140);
  const lines: string[] = [];
  if (document.series.length === 0) {
    lines.push("No memory series in this input.");
  } else {
    const several = new Set(document.series.map((series) => series.rank)).size > 1;
    const names = ["series", "class", "peak", "growth", "slope", "sees ≥", "until OOM"];
    const shown = document.series.slice(0, 40);
    const rows = shown.map((series) => seriesRow(series, several, paint));
    lines.push(
      ...alignRows([names.map((name) => cell(name, paint.dim)), ...rows], [false, false, true, true, true, true, true]),
    );
    const more = document.series.length - shown.length;
    if (more > 0) lines.push(paint.dim(`and ${more} more series (--json has them all)`));
  }
  const found = findingLines(document.findings, paint, width);
  lines.push("", ...(found.length > 0 ? found : [paint.green("  no findings")]));
  const notes = noteLines(document, width);
  if (notes.length > 0) lines.push("", ...notes.map(paint.dim));
  return lines.join("\n");
}

function seriesRow(series: SeriesAnalysis, several: boolean, paint: Paint): Cell[] {
  return [
    cell(clip(safe(seriesLabel(series, several)), 40)),
    cell(series.class, classColor(series.class, paint)),
    cell(sizeCell(series.peak_bytes, series.metric)),
    cell(series.growth_bytes === null ? "–" : formatSize(series.metric, series.growth_bytes, "delta")),
    cell(slope(series)),
    cell(sizeCell(series.mde_bytes, series.metric), paint.dim),
    cell(untilOom(series), series.steps_to_oom !== null || series.seconds_to_oom !== null ? paint.red : paint.dim),
  ];
}

function classColor(name: DriftClass, paint: Paint): (text: string) => string {
  switch (name) {
    case "leak":
      return (text) => paint.bold(paint.red(text));
    case "rising":
    case "step":
    case "spike":
      return paint.yellow;
    case "insufficient":
    case "unavailable":
      return paint.dim;
    case "flat":
    case "plateau":
    case "sawtooth":
    case "shrink":
      return paint.green;
  }
}

/** Ranks listed on one line. */
const MAX_NAMED = 20;

function slope(series: SeriesAnalysis): string {
  if (series.slope_bytes_per_step !== null)
    return `${formatSize(series.metric, series.slope_bytes_per_step, "delta")}/${stepNoun(series)}`;
  return series.slope_bytes_per_s === null ? "–" : `${formatSize(series.metric, series.slope_bytes_per_s, "delta")}/s`;
}

function untilOom(series: SeriesAnalysis): string {
  if (series.steps_to_oom !== null) return `${Math.round(series.steps_to_oom).toLocaleString("en-US")} steps`;
  return series.seconds_to_oom === null ? "–" : formatDuration(series.seconds_to_oom);
}

function ranksWithData({ participating_ranks: present, world_size: size }: RanksAnalysis): string {
  const named = present.slice(0, MAX_NAMED).join(", ");
  return `ranks with data: ${named}${present.length > MAX_NAMED ? ", …" : ""} (${present.length} of ${size})`;
}

function noteLines(document: AnalysisDocument, width: number): string[] {
  const notes: string[] = [];
  for (const diagnosis of document.diagnosis) {
    // Without steps or a device there is nothing to diagnose; the JSON document lists it.
    if (diagnosis.kind === "NO_DATA" || diagnosis.kind === "NO_GPU") continue;
    const worst = diagnosis.worst_rank === null ? "" : ` (worst rank ${diagnosis.worst_rank})`;
    notes.push(`diagnosis: ${diagnosis.status}${worst}`);
  }
  const { ranks } = document;
  if (ranks.missing_ranks.length > 0)
    notes.push(`ranks without data: ${ranks.missing_ranks.slice(0, MAX_NAMED).join(", ")}`);
  if (ranks.participating_ranks.length > 1) notes.push(ranksWithData(ranks));
  for (const [column, count] of Object.entries(document.missing)) {
    if (count > 0) notes.push(`${column}: ${plural(count, "value")} missing`);
  }
  return notes.map((note) => clip(`  ${safe(note)}`, width));
}
