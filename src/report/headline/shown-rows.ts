import type { AnalysisDocument, SeriesAnalysis } from "../../analysis/series/document.ts";
import { formatBytes, formatShort } from "../../core/units.ts";
import { formatSize, isCounted } from "../../telemetry/recording/metrics.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import { sameSeries } from "../../verdict/model/series-index.ts";
import { comparedValue, decisiveRun } from "../model/decisive-run.ts";
import type { RunReport, ScenarioReport } from "../model/gate-report.ts";
import { checkName } from "../wording/wording.ts";
import { causesOf } from "./causes.ts";

/** Other processes above this share of the largest one are counted, as for the heaps. */
const COUNTED_SHARE = 0.05;

/**
 * What describes a run where nothing was checked: its largest allocator, else its host memory. The
 * heap of one process describes no family: what grows in another shows in host memory alone.
 */
export function describingSeries(analysis: AnalysisDocument | null): SeriesAnalysis | null {
  const { series = [], processes = [] } = analysis ?? {};
  const measured = series.filter((one) => one.peak_bytes !== null).sort((a, b) => b.peak_bytes! - a.peak_bytes!);
  const host = measured.find(({ metric }) => metric === "host");
  const peaks = processes.flatMap(({ rank, peak_bytes: peak }) => (rank === host?.rank ? [peak] : []));
  const [most = 0, next = 0] = peaks.sort((a, b) => b - a);
  const isPart = (device: string): boolean => device === "host" && next > COUNTED_SHARE * most;
  return measured.find(({ metric, device }) => metric === "allocated" && !isPart(device)) ?? host ?? null;
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
