import type { Check, Judgement } from "../verdict/model/judgement.ts";
import { sameSeries } from "../verdict/model/series-index.ts";

/** The decision on a session that was measured on the main branch. */
export type Decision =
  /** It joins the baseline. */
  | "accept"
  /** It exceeds the baseline: recorded and reported, but not used for comparisons. */
  | "hold-breach"
  /** It lacks series of the baseline: recorded and reported, but not used for comparisons. */
  | "hold-unjudged";

/**
 * Decide by the checks against the baseline alone. A session above a budget or the release anchor is reported and can
 * still join the baseline: it is not higher than those before it. A baseline with too few runs takes every session
 * without an absolute breach (out of memory, a leak), since it could not start otherwise.
 * @param olderRuns approved runs that the session was compared with
 */
export function decide(judgement: Judgement, olderRuns: number, minBaselineRuns: number): Decision {
  const gating = judgement.checks.filter((check) => check.gating);
  const died = gating.some(({ kind, verdict }) => kind === "oom" && verdict !== "pass");
  const relative = gating.filter(({ limit }) => limit === "baseline");
  if (died || relative.some(({ verdict }) => verdict === "fail")) return "hold-breach";
  if (olderRuns < minBaselineRuns) return "accept";
  // A new series joins the baseline; one that the session lacks is kept.
  const lost = relative.some(({ verdict, candidate_bytes }) => verdict === "unjudged" && candidate_bytes === null);
  return lost ? "hold-unjudged" : "accept";
}

/** The check that represents a night: the largest gating peak; null when no peak was measured. */
export function leadingCheck(judgement: Judgement): Check | null {
  const rank = ({ limit }: Check): number => (limit === "baseline" ? 1 : 0);
  const peaks = judgement.checks.filter(
    (check) => check.gating && check.aspect === "peak" && check.candidate_bytes !== null,
  );
  return (
    peaks.sort((a, b) => rank(b) - rank(a) || (b.candidate_bytes as number) - (a.candidate_bytes as number))[0] ?? null
  );
}

/** Growth of the same series, bytes; null when it is not known. */
export function leadingGrowth(judgement: Judgement, leading: Check): number | null {
  const found = judgement.checks.find(
    (check) => check.kind === "growth" && check.limit === "baseline" && sameSeries(check, leading),
  );
  return found?.candidate_bytes ?? null;
}
