import type { MeasuredSeries, Measurements } from "../../analysis/measurements.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { plural } from "../../core/text.ts";
import { formatBytes, formatBytesDelta } from "../../core/units.ts";
import { median } from "../../stats/order-statistics.ts";
import type { Judgement } from "../../verdict/judgement.ts";
import { renderJudgementTerminal } from "./terminal.ts";
import { alignRows, cell } from "./terminal-table.ts";

interface ComparisonSide {
  readonly name: string;
  readonly measurements: Measurements;
}

type Feature = "peak_bytes" | "growth_bytes";

function seriesKey({ rank, device, metric }: MeasuredSeries): string {
  return `rank ${rank}  ${device}  ${metric}`;
}

/** The median of one feature over a side's runs; null when no run has it. */
function medianOf(side: Measurements, key: string, feature: Feature): number | null {
  const values = side.runs.flatMap(({ series }) =>
    series.filter((one) => seriesKey(one) === key).map((one) => one[feature]),
  );
  const known = values.filter((value) => typeof value === "number");
  return known.length === 0 ? null : median(known);
}

const sideText = ({ name, measurements }: ComparisonSide): string =>
  `${escapeTerminal(name)} (${plural(measurements.runs.length, "run")})`;

/** Both sides in one small table (medians over their runs), then the judgement. */
export function renderComparisonTerminal(
  sides: { readonly a: ComparisonSide; readonly b: ComparisonSide },
  judgement: Judgement,
  options: { readonly color: boolean; readonly width: number },
): string {
  const { a, b } = sides;
  const runs = [...a.measurements.runs, ...b.measurements.runs];
  const keys = [...new Set(runs.flatMap(({ series }) => series.map(seriesKey)))].sort();
  const size = (value: number | null) => (value === null ? "unknown" : formatBytes(value));
  const rows = keys.flatMap((key) =>
    (["peak_bytes", "growth_bytes"] as const).map((feature) => {
      const left = medianOf(a.measurements, key, feature);
      const right = medianOf(b.measurements, key, feature);
      const delta = left === null || right === null ? "" : formatBytesDelta(right - left);
      return [escapeTerminal(key), feature === "peak_bytes" ? "peak" : "growth", size(left), size(right), delta];
    }),
  );
  const table = [["series", "", "A", "B", "difference"], ...rows].map((row) => row.map((text) => cell(text)));
  const lines = alignRows(table, [false, false, true, true, true]);
  return [`A  ${sideText(a)}`, `B  ${sideText(b)}`, "", ...lines, "", renderJudgementTerminal(judgement, options)].join(
    "\n",
  );
}
