import type { AnalysisDocument, SeriesAnalysis } from "../analysis/document.ts";
import { formatBytes, formatBytesDelta } from "../core/units.ts";
import type { Check, Judgement } from "../verdict/judgement.ts";
import { sameSeries } from "../verdict/series-index.ts";

const SEVERITY = { fail: 0, unjudged: 1, warn: 2, pass: 3 } as const;

/** Growth comes before the peak that it causes. */
const KIND = { oom: 0, growth: 1, class: 2, peak: 3, budget: 3 } as const;

/** The check that decided: worst verdict first, gating before advisory, growth before peak, allocator before pages. */
export function decidingCheck(checks: readonly Check[]): Check | null {
  const order = (check: Check): readonly number[] => [
    SEVERITY[check.verdict],
    check.gating ? 0 : 1,
    KIND[check.kind],
    // One gate over several ranks counts the pages of all of them to its own rank.
    check.metric === "allocated" ? 0 : 1,
    check.rank,
  ];
  const sorted = [...checks].sort((a, b) => {
    const left = order(a);
    const right = order(b);
    const at = left.findIndex((value, index) => value !== right[index]);
    return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
  });
  return sorted[0] ?? null;
}

/** The series of a check. */
function seriesOfCheck(analysis: AnalysisDocument | null, check: Check | null): SeriesAnalysis | null {
  if (analysis === null || check === null) return null;
  return analysis.series.find((series) => sameSeries(series, check)) ?? null;
}

/** "24.9 MiB/s", or per step where steps exist; null when nothing is known. */
function slopeText(series: SeriesAnalysis): string | null {
  if (series.slope_bytes_per_step !== null) return `${formatBytesDelta(series.slope_bytes_per_step)} per step`;
  if (series.slope_bytes_per_s !== null) return `${formatBytesDelta(series.slope_bytes_per_s)}/s`;
  return null;
}

/** One line under a chart's title: peak, baseline, growth and class of the deciding series. */
export function headline(judgement: Judgement, analysis: AnalysisDocument | null): string {
  const check = decidingCheck(judgement.checks);
  const series = seriesOfCheck(analysis, check);
  if (check === null || series === null) return judgement.reason;
  const parts = [`${check.metric} peak ${series.peak_bytes === null ? "unknown" : formatBytes(series.peak_bytes)}`];
  if (check.kind === "peak" && check.baseline_bytes !== null)
    parts.push(`baseline ${formatBytes(check.baseline_bytes)}`);
  const slope = slopeText(series);
  if (["leak", "rising"].includes(series.class) && slope !== null) parts.push(`growing ${slope}`);
  parts.push(`class ${series.class}`);
  return parts.join(", ");
}
