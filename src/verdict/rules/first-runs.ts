import { median } from "../../stats/order-statistics.ts";
import { BASE_RERUNS, FIRST_RUNS, FIRST_RUNS_GAP } from "../model/defaults.ts";
import { type Level, levelOf, type Margin } from "./compare-with-base.ts";

/** Runs of a change against runs of the base commit in the same session, at least one of each. Bytes. */
interface FirstRunsInput {
  readonly candidate: readonly number[];
  readonly here: readonly number[];
  readonly margin: Margin;
  /** Gap beyond which {@link BASE_RERUNS} runs of each decide; 0 where it is not known. */
  readonly far: number;
}

/** `pass`: a run is within the margin, or the base reaches it too. `warn`: above, and not certain. */
export interface FirstRunsComparison extends Level {
  readonly value: number;
  /** Candidate runs that were compared. */
  readonly used: number;
  readonly verdict: "pass" | "warn" | "fail";
  readonly needsMoreRuns: number;
  readonly needsBaseRuns: number;
}

const range = (values: readonly number[]): number => Math.max(...values) - Math.min(...values);

/**
 * The comparison within a session, which needs no baseline: five runs of the change lie above five of the base with a
 * gap of half the wider range of the two. Of runs of one program, whatever their distribution, five of ten are the
 * upper five in 1 of 252 cases (Rosenbaum, 1954), of a program with two equally frequent levels in 1 of 1,024. With
 * the gap it is at most 0.10 % in thirteen families (`bench/verdict`, part `first-runs`).
 * Three of each are enough for a gap wider than programs are known to have between their levels.
 */
export function compareFirstRuns({ candidate, here, margin, far }: FirstRunsInput): FirstRunsComparison {
  const level = { value: median(candidate), used: candidate.length, ...levelOf(here, 0, margin) };
  const gap = Math.min(...candidate) - Math.max(...here);
  const done = { ...level, needsMoreRuns: 0, needsBaseRuns: 0 };
  if (gap <= 0 || Math.min(...candidate) <= level.threshold) return { ...done, verdict: "pass" };
  const made = Math.min(candidate.length, here.length);
  if (made >= BASE_RERUNS && far > 0 && gap > far) return { ...done, verdict: "fail" };
  if (made >= FIRST_RUNS) {
    const apart = gap > FIRST_RUNS_GAP * Math.max(range(candidate), range(here));
    return { ...done, verdict: apart ? "fail" : "warn" };
  }
  const wanted = made < BASE_RERUNS ? BASE_RERUNS : FIRST_RUNS;
  const needsMoreRuns = candidate.length < wanted ? 1 : 0;
  return { ...level, verdict: "warn", needsMoreRuns, needsBaseRuns: Math.max(0, wanted - here.length) };
}
