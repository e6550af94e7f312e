import type { MeasuredRun } from "../analysis/measurements.ts";
import { groupBy } from "../core/group-by.ts";

/**
 * Ranks that were measured apart, as runs of their job: what belongs to one session and has no rank in common is one run, in
 * the order in which each rank was measured. Runs of one and the same rank stay runs of their own.
 */
export function runsOfJobs(runs: readonly MeasuredRun[]): readonly MeasuredRun[] {
  return [...groupBy(runs, ({ session }) => session).values()].flatMap((ofSession) => {
    const jobs: MeasuredRun[][] = [];
    const ranksOf: Set<number>[] = [];
    const next = new Map<number, number>();
    for (const run of ofSession) {
      const ranks = new Set(run.series.map(({ rank }) => rank));
      // A rank's earlier runs lie before this one: only what comes after them can still lack it.
      let at = Math.max(0, ...[...ranks].map((rank) => next.get(rank) ?? 0));
      while ([...ranks].some((rank) => ranksOf[at]?.has(rank) === true)) at += 1;
      const job = jobs[at] ?? [];
      jobs[at] = [...job, run];
      ranksOf[at] = new Set([...(ranksOf[at] ?? []), ...ranks]);
      for (const rank of ranks) next.set(rank, at + 1);
    }
    return jobs.map(united);
  });
}

function united(parts: readonly MeasuredRun[]): MeasuredRun {
  const [first] = parts;
  if (first === undefined || parts.length === 1) return first ?? { session: "", commit: null, series: [] };
  return {
    session: first.session,
    commit: first.commit ?? null,
    series: parts.flatMap(({ series }) => series),
    ...(parts.some(({ oom }) => oom === true) ? { oom: true } : {}),
    ...(parts.some(({ oom_suspected }) => oom_suspected === true) ? { oom_suspected: true } : {}),
  };
}
