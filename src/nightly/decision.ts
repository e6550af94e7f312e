import type { Check, Judgement } from "../verdict/judgement.ts";

/** What becomes of a session that was measured on the main branch. */
export type Decision =
  /** It joins the baseline. */
  | "approve"
  /** It exceeds the baseline: recorded, not compared with, told to people. */
  | "hold-breach"
  /** What the baseline knows, this session does not: recorded, not compared with, told to people. */
  | "hold-unjudged";

/**
 * Decide by the checks against the baseline alone. An exceeded budget or release anchor is told, but says nothing against the session as a
 * baseline: it is no higher than those before it. A baseline of too few runs takes every session that is no breach by itself
 * (out of memory, a leak), since it could not begin otherwise.
 * @param olderRuns approved runs that the session was held against
 */
export function decide(judgement: Judgement, olderRuns: number, minBaselineRuns: number): Decision {
  const gating = judgement.checks.filter((check) => check.gating);
  const died = gating.some(({ kind, verdict }) => kind === "oom" && verdict !== "pass");
  const relative = gating.filter(({ limit }) => limit === "baseline");
  if (died || relative.some(({ verdict }) => verdict === "fail")) return "hold-breach";
  if (olderRuns < minBaselineRuns) return "approve";
  // A series that is new to the baseline is learnt; one that the session lacks is not forgotten.
  const lost = relative.some(({ verdict, candidate_bytes }) => verdict === "unjudged" && candidate_bytes === null);
  return lost ? "hold-unjudged" : "approve";
}

/** The check that a night is remembered by: the largest gating peak; null when no peak was measured. */
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
    ({ aspect, limit, rank, device, metric }) =>
      aspect === "growth" &&
      limit === "baseline" &&
      rank === leading.rank &&
      device === leading.device &&
      metric === leading.metric,
  );
  return found?.candidate_bytes ?? null;
}
