import type { SeriesAnalysis } from "../../analysis/series/document.ts";
import { formatBytes, formatShort } from "../../core/units.ts";
import { formatSize, isCounted } from "../../telemetry/recording/metrics.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import { sameSeries } from "../../verdict/model/series-index.ts";
import type { RunReport, ScenarioReport } from "../model/gate-report.ts";
import { checkName } from "../wording/wording.ts";
import { causesOf } from "./causes.ts";

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

/** Share of the growth from which on it is said to be one process's. */
const ONE_PROCESS_SHARE = 0.8;

/**
 * The role that has most of the growth which a check of the host is about, or the workers that have it together; null
 * where one process is all. The heap of one process is not that of several.
 */
export function growingProcess(found: DecisiveRun | null, { device, rank, metric }: Check): string | null {
  if (device !== "host" || isCounted(metric)) return null;
  const roles = found?.run.analysis?.processes?.filter((one) => one.rank === rank) ?? [];
  const shares = new Map<string, number>();
  for (const { role, share } of roles) {
    const workers = metric === "host" ? role.replace(/^worker \d+ of (\d+) of/, "the $1 workers of") : role;
    for (const name of new Set([role, workers])) shares.set(name, (shares.get(name) ?? 0) + (share ?? 0));
  }
  return [...shares].find(([, share]) => share >= ONE_PROCESS_SHARE)?.[0] ?? null;
}

/** What describes a run where nothing was checked: the largest allocator of the newest one, else its host memory. */
export function describingSeries(runs: readonly RunReport[]): SeriesAnalysis | null {
  const newest = runs.findLast(({ role, analysis }) => role === "candidate" && analysis !== null);
  const measured = newest?.analysis?.series.filter(({ peak_bytes: peak }) => peak !== null) ?? [];
  const of = (metric: string): SeriesAnalysis | undefined =>
    measured.filter((one) => one.metric === metric).sort((a, b) => (b.peak_bytes ?? 0) - (a.peak_bytes ?? 0))[0];
  return of("allocated") ?? of("host") ?? null;
}

const MAX_ROWS = 3;

/**
 * The decisive checks, at most {@link MAX_ROWS}: of the first cause the peak too, of the others the deciding one. Their
 * values are those of the run that the picture shows.
 */
export function shownRows({ judgement, runs }: Pick<ScenarioReport, "judgement" | "runs">): readonly Check[] {
  const [first, ...others] = causesOf(judgement?.checks ?? []);
  if (first === undefined) return [];
  const { decisive } = first;
  const peak = first.explained.find((check) => check.aspect === "peak" && sameSeries(check, decisive));
  const shown = decisiveRun(runs, decisive)?.run ?? null;
  const rows = [decisive, ...(peak === undefined ? [] : [peak]), ...others.map((cause) => cause.decisive)];
  return rows.slice(0, MAX_ROWS).map((check) => withValue(check, shown));
}

/**
 * The check with the value of one run; unchanged where the run does not have it, or is within a limit that all runs
 * together exceed, and for a projected growth.
 */
export function withValue(check: Check, run: RunReport | null): Check {
  const found = run === null || check.horizon !== undefined ? null : decisiveRun([run], check);
  const value = found === null ? null : comparedValue(found.series, check);
  const { candidate_bytes: judged, threshold_bytes: limit } = check;
  const isWithin = value !== null && limit !== null && judged !== null && judged > limit && value <= limit;
  return value === null || isWithin ? check : { ...check, candidate_bytes: Math.round(value) };
}

/** Writes sizes of a check in as few digits as tell its value from its limit, where the two differ. */
export function sizeFormat({
  metric,
  candidate_bytes: value,
  threshold_bytes: limit,
}: Check): (bytes: number) => string {
  if (isCounted(metric)) return (count) => formatSize(metric, count);
  const exact = (bytes: number): string => `${Math.round(bytes)} B`;
  if (value === null || limit === null || value === limit) return formatShort;
  return [formatShort, formatBytes].find((format) => format(value) !== format(limit)) ?? exact;
}

/** A size of a row; growth has a sign. */
export function rowSize(check: Check, bytes: number | null): string {
  if (bytes === null) return "–";
  const text = sizeFormat(check)(bytes);
  return check.aspect === "peak" || bytes <= 0 ? text : `+${text}`;
}

/** Candidate, baseline and limit of a row. */
export const rowCells = (check: Check) => ({
  candidate: rowSize(check, check.candidate_bytes),
  baseline: rowSize(check, check.baseline_bytes),
  limit: rowSize(check, check.threshold_bytes),
});

/** The name of a row: a class check is about growth. */
export function rowName(check: Check, all: readonly Check[]): string {
  const name = checkName(check, all).replace(/ class\b/, " growth");
  return check.horizon === undefined ? name : `${name} ${check.horizon}`;
}
