import type { AnalysisDocument, SeriesAnalysis } from "../analysis/document.ts";
import { formatBytes, formatBytesDelta } from "../core/units.ts";
import { verdictUrgency } from "../report/urgency.ts";
import type { Check, Judgement } from "../verdict/judgement.ts";
import { sameSeries } from "../verdict/series-index.ts";

/** Growth comes before the peak that it causes. */
const KIND = { oom: 0, growth: 1, class: 2, peak: 3, budget: 3 } as const;

/** The check that decided: worst verdict first, gating before advisory, growth before peak, allocator before pages. */
export function decidingCheck(checks: readonly Check[]): Check | null {
  const sorted = [...checks].sort(
    (a, b) =>
      verdictUrgency(a.verdict) - verdictUrgency(b.verdict) ||
      Number(b.gating) - Number(a.gating) ||
      KIND[a.kind] - KIND[b.kind] ||
      // One gate over several ranks counts the pages of all of them to its own rank.
      Number(b.metric === "allocated") - Number(a.metric === "allocated") ||
      a.rank - b.rank,
  );
  return sorted[0] ?? null;
}

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
