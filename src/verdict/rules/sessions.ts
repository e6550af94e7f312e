import { groupBy } from "../../core/group-by.ts";
import { standardDeviation } from "../../stats/moments.ts";
import { median } from "../../stats/order-statistics.ts";
import { qn } from "../../stats/qn.ts";
import { spreadWithin } from "../../stats/spread.ts";
import { studentQuantile } from "../../stats/student-t.ts";
import { MIN_SESSION_FREEDOM, MIN_SESSIONS, STRAGGLER_FACTOR, STRAGGLER_SESSIONS } from "../model/defaults.ts";

/** A value of one baseline run, with its session. */
export interface SessionValue {
  readonly session: string;
  /** Whether it is of a re-run of the base commit; absent = it is not. */
  readonly rerun?: boolean;
  readonly value: number;
}

/** Values by session. */
function bySession(values: readonly SessionValue[]): readonly (readonly number[])[] {
  return [...groupBy(values, ({ session }) => session).values()].map((group) => group.map(({ value }) => value));
}

/** Spread within the baseline's sessions, bytes; null while they have too few runs each. */
export function knownWithin(baseline: readonly SessionValue[], quantum: number): number | null {
  const groups = bySession(baseline);
  const freedom = groups.reduce((sum, group) => sum + group.length - 1, 0);
  return freedom >= MIN_SESSION_FREEDOM ? spreadWithin(groups, quantum) : null;
}

/**
 * The spread between the levels of sessions, bytes: the standard deviation, which Student's t assumes. From eight
 * sessions on it is at most one and a half times the robust Qn, so that one outlier does not widen it.
 */
function apart(levels: readonly number[]): number {
  const deviation = standardDeviation(levels);
  return levels.length < STRAGGLER_SESSIONS ? deviation : Math.min(deviation, STRAGGLER_FACTOR * qn(levels));
}

/**
 * The highest level that a new session of the baseline's program may have: a one-sided prediction bound (Student's t,
 * sessions - 1 degrees of freedom) at `alpha` from the spread between its sessions. Runs that differ within a session
 * make equal sessions look different, so the variance within sessions, of the baseline and of the `candidate` runs, is
 * subtracted. Null when the baseline has too few sessions. Bytes.
 */
export function sessionBound(
  baseline: readonly SessionValue[],
  candidate: readonly number[],
  quantum: number,
  alpha: number,
): number | null {
  const groups = bySession(baseline);
  const count = groups.length;
  if (count < MIN_SESSIONS) return null;
  const levels = groups.map(median);
  const within = spreadWithin([...groups, candidate], quantum) ?? 0;
  const perLevel = groups.reduce((sum, group) => sum + 1 / group.length, 0) / count;
  const between = Math.max(0, apart(levels) ** 2 - within ** 2 * perLevel);
  const variance = between * (1 + 1 / count) + within ** 2 * (1 / candidate.length + 1 / baseline.length);
  return median(levels) + studentQuantile(1 - alpha, count - 1) * Math.sqrt(variance);
}
