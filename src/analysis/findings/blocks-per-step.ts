import { fitLine } from "../../stats/least-squares.ts";
import type { Recording } from "../../telemetry/recording/model.ts";
import { growthStretch } from "../growth/growth-stretch.ts";
import type { AnalysedSeries } from "../growth/series-analysis.ts";
import { orderSeries } from "../series/ordered.ts";
import { joinColumn, type MetricSeries } from "../series/series.ts";

/** Blocks that CPython's own allocator gained with each step in the stretch in which a series grew; null = unknown. */
function blocksPerStep(tables: Recording["tables"], series: MetricSeries): number | null {
  const own = tables.filter(({ rank, device, columns }) => {
    return rank === series.rank && device === series.device && columns.blocks !== undefined;
  });
  const stretch = growthStretch(series);
  if (own.length === 0 || stretch?.kind !== "growth") return null;
  const join = (pick: Parameters<typeof joinColumn>[1]) => joinColumn(own, pick);
  const timeNs = join((table) => table.timeNs);
  const steps = join((table) => table.steps);
  const counts = join(({ columns }) => columns.blocks) ?? new Float64Array();
  const { axis, x, bytes: blocks, stepSpan } = orderSeries({ ...series, timeNs, steps, bytes: counts });
  if (stepSpan === null || axis !== (stretch.unit === "steps" ? "step" : "time")) return null;
  const scale = axis === "time" ? 1e9 : 1;
  const from = x.findIndex((at) => at >= scale * stretch.onset);
  const to = x.findLastIndex((at) => at <= scale * stretch.end) + 1;
  const span = (x.at(-1) ?? 0) - (x[0] ?? 0);
  if (from < 0 || to - from < 2 || !(span > 0)) return null;
  return Number(((fitLine(x, blocks, from, to).slope * span) / stepSpan).toPrecision(4));
}

/** Leaks of the host's allocators with their blocks: evidence alone, as a leak has to be material in bytes. */
export function withBlocks(
  { tables }: Recording,
  collected: readonly MetricSeries[],
  analysed: readonly AnalysedSeries[],
): readonly AnalysedSeries[] {
  return analysed.map((entry, i) => {
    const { class: drift, device, metric } = entry.analysis;
    const series = collected[i];
    const counted = device === "host" && (metric === "python" || metric === "allocated");
    const blocks = series && counted && drift === "leak" ? blocksPerStep(tables, series) : null;
    return blocks === null ? entry : { ...entry, blocksPerStep: blocks };
  });
}
