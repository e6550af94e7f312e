import type { MeasuredSeries } from "../../analysis/measurements.ts";
import { cacheLimit } from "../../analysis/trend/materiality.ts";
import { formatDuration } from "../../core/units.ts";
import { combine } from "../model/combine.ts";
import type { Check, Judgement } from "../model/judgement.ts";
import { finite } from "../model/series-index.ts";

// A counter of live blocks shows growth of some MiB, but not whether it is a leak or a cache that fills during the
// whole run. Without a baseline such growth warns, and names the length of a run that decides. It fails where an
// attribution run shows that nothing which the program still reaches grows: then a lost reference keeps it.

/** A longer run has its warm-up as well. */
const LENGTHENED = 1.25;

const LONGER_RUN = "a longer run";

/** "38 s" or "900 steps": a run in which a leak of this speed exceeds every cache that counts as one. */
export function decisiveLength(series: MeasuredSeries): string {
  const bytes = LENGTHENED * cacheLimit(Math.abs(finite(series.peak_bytes) ?? 0), series.metric);
  const perStep = finite(series.slope_bytes_per_step);
  if (perStep !== null && perStep > 0) return `${Math.ceil(bytes / perStep)} steps`;
  const perSecond = finite(series.slope_bytes_per_s);
  return perSecond !== null && perSecond > 0
    ? formatDuration(Math.ceil(bytes / perSecond)).replace(".0 s", " s")
    : LONGER_RUN;
}

/** The end of a reason for growth that may be a cache's; `unless` as in `cache_unless`. */
export const orCache = (unless: string): string =>
  `, or a cache that fills: ${unless === LONGER_RUN ? unless : `a run of ${unless}`} would decide`;

/** Whether growth, bytes, is at most what a cache may hold. */
export const mayBeCache = (growth: number, level: number, { metric }: MeasuredSeries): boolean =>
  growth <= cacheLimit(level, metric);

const isDoubtful = (check: Check): boolean => check.cache_unless !== undefined && check.gating;

/** Whether an attribution run could turn a warning into a fail. */
export const hasDoubtfulLeak = ({ checks }: Judgement): boolean => checks.some(isDoubtful);

/** The judgement once it is shown that what grows is lost to the program. */
export function withLostMemory(judgement: Judgement): Judgement {
  if (!hasDoubtfulLeak(judgement)) return judgement;
  const checks = judgement.checks.map((check): Check => {
    if (!isDoubtful(check)) return check;
    const { cache_unless: unless = "", ...rest } = check;
    const reason = check.reason.replace(orCache(unless), ", and nothing that the program reaches grows");
    return { ...rest, verdict: "fail", confirmed: true, needs_more_runs: 0, needs_base_runs: 0, reason } as Check;
  });
  return combine(checks, judgement.fingerprint);
}
