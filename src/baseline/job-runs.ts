import type { MeasuredRun } from "../analysis/measurements.ts";
import { groupBy } from "../core/group-by.ts";

/**
 * Merges ranks that were measured separately into runs of their job: runs of one session without a common rank are one
 * run, in the order in which each rank was measured. Several runs of the same rank stay separate.
 */
export function runsOfJobs(runs: readonly MeasuredRun[]): readonly MeasuredRun[] {
  return [...groupBy(runs, ({ session }) => session).values()].flatMap((ofSession) => {
    const jobs: MeasuredRun[][] = [];
    const ranksOf: Set<number>[] = [];
    const next = new Map<number, number>();
    for (const run of ofSession) {
      const ranks = new Set(run.series.map(({ rank }) => rank));
      // The rank's earlier runs are before this one, so only later ones can lack it.
      let at = Math.max(0, ...[...ranks].map((rank) => next.get(rank) ?? 0));
      while ([...ranks].some((rank) => ranksOf[at]?.has(rank) === true)) at += 1;
      const job = jobs[at] ?? [];
      jobs[at] = [...job, run];
      ranksOf[at] = new Set([...(ranksOf[at] ?? []), ...ranks]);
      for (const rank of ranks) next.set(rank, at + 1);
    }
    return jobs.map(unitedRun);
  });
}

/** The version of the analysis of parts of one run; of several versions the lowest, so that none counts as newer. */
function analysisOf(parts: readonly MeasuredRun[]): Pick<MeasuredRun, "analysis_version"> {
  const version = Math.min(...parts.map(({ analysis_version = 1 }) => analysis_version));
  return version > 1 && Number.isFinite(version) ? { analysis_version: version } : {};
}

/** Parts of one run as that run. */
export function unitedRun(parts: readonly MeasuredRun[]): MeasuredRun {
  const [first] = parts;
  if (first === undefined || parts.length === 1) return first ?? { session: "", commit: null, series: [] };
  return {
    session: first.session,
    commit: first.commit ?? null,
    ...analysisOf(parts),
    series: parts.flatMap(({ series }) => series),
    ...(first.steps === undefined ? {} : { steps: Math.max(...parts.flatMap(({ steps }) => steps ?? [])) }),
    ...(parts.some(({ oom }) => oom === true) ? { oom: true } : {}),
    ...(parts.some(({ oom_suspected }) => oom_suspected === true) ? { oom_suspected: true } : {}),
  };
}
