import { measuredRun } from "../../analysis/measured-run.ts";
import type { MeasuredRun } from "../../analysis/measurements.ts";
import type { SeriesAnalysis } from "../../analysis/series/document.ts";
import { isCounted } from "../../telemetry/recording/metrics.ts";
import { hasSucceeded } from "../../telemetry/recording/model.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import { sameSeries } from "../../verdict/model/series-index.ts";
import { comparableRole, type ScenarioReport } from "./gate-report.ts";
import type { RunReport, RunRole } from "./report-schema.ts";

/** The candidate run that a check is about, and its analysis of the check's series. */
export interface DecisiveRun {
  readonly run: RunReport;
  readonly series: SeriesAnalysis;
}

/** The analysis of the newest candidate run that has one; null where none has. */
export function newestAnalysis(runs: readonly RunReport[]): RunReport["analysis"] {
  return runs.findLast(({ role, analysis }) => role === "candidate" && analysis !== null)?.analysis ?? null;
}

/** The successful runs of a scenario in one role, as judged. */
export function successfulRuns(
  { runs }: Pick<ScenarioReport, "runs">,
  wanted: RunRole = comparableRole(runs),
): readonly MeasuredRun[] {
  return runs.flatMap(({ role, info, analysis }) => {
    if (role !== wanted || !hasSucceeded(info) || analysis === null) return [];
    return [measuredRun(analysis, { session: info.session, commit: info.commit })];
  });
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

/** Share of what all processes gained from which on the growth is said to be one process's. */
const ONE_PROCESS_SHARE = 0.8;
/** Its gain is at least this share of the growth: of a straight line, middles of quarters are three quarters apart. */
const GAINED_SHARE = 0.5;

/**
 * The role that has most of the growth which a check of the host is about, or the workers that have it together; null
 * where one process is all. The heap of one process is not that of several.
 */
export function growingProcess(found: DecisiveRun | null, { device, rank, metric }: Check): string | null {
  if (device !== "host" || isCounted(metric)) return null;
  const roles = found?.run.analysis?.processes?.filter((one) => one.rank === rank) ?? [];
  const gains = new Map<string, { share: number; bytes: number }>();
  for (const { role, share, growth_bytes: bytes } of roles) {
    const workers = metric === "host" ? role.replace(/^worker \d+ of (\d+) of/, "the $1 workers of") : role;
    for (const name of new Set([role, workers])) {
      const before = gains.get(name) ?? { share: 0, bytes: 0 };
      gains.set(name, { share: before.share + (share ?? 0), bytes: before.bytes + (bytes ?? 0) });
    }
  }
  const least = GAINED_SHARE * (found?.series.growth_bytes ?? 0);
  return [...gains].find(([, { share, bytes }]) => share >= ONE_PROCESS_SHARE && bytes >= least)?.[0] ?? null;
}
