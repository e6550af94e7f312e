import type { SeriesAnalysis } from "../../analysis/series/document.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import { sameSeries } from "../../verdict/model/series-index.ts";
import type { RunReport } from "../model/gate-report.ts";

/** The candidate run that a check is about, and its analysis of the check's series. */
export interface DecisiveRun {
  readonly run: RunReport;
  readonly series: SeriesAnalysis;
}

/** The value of a series that a check compares; null = unknown. Bytes. */
export function comparedValue(series: SeriesAnalysis, { kind }: Check): number | null {
  return kind === "growth" || kind === "class" ? series.growth_bytes : series.peak_bytes;
}

/** The candidate run whose value is nearest to the check's, the first of equals; null when none has the series. */
export function decisiveRun(runs: readonly RunReport[], check: Check): DecisiveRun | null {
  let nearest: (DecisiveRun & { readonly distance: number }) | null = null;
  for (const run of runs) {
    if (run.role !== "candidate") continue;
    const series = run.analysis?.series.find((one) => sameSeries(one, check));
    if (series === undefined) continue;
    const value = comparedValue(series, check);
    const wanted = check.candidate_bytes;
    const distance = value === null || wanted === null ? Number.POSITIVE_INFINITY : Math.abs(value - wanted);
    if (nearest === null || distance < nearest.distance) nearest = { run, series, distance };
  }
  return nearest;
}

/** What describes a run where nothing was checked: the largest allocator of the newest one, else its host memory. */
export function describingSeries(runs: readonly RunReport[]): SeriesAnalysis | null {
  const newest = runs.findLast(({ role, analysis }) => role === "candidate" && analysis !== null);
  const measured = newest?.analysis?.series.filter(({ peak_bytes: peak }) => peak !== null) ?? [];
  const of = (metric: string): SeriesAnalysis | undefined =>
    measured.filter((one) => one.metric === metric).sort((a, b) => (b.peak_bytes ?? 0) - (a.peak_bytes ?? 0))[0];
  return of("allocated") ?? of("host") ?? null;
}
