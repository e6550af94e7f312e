import { type PeakRule, sampleRule } from "./peak-rule.ts";

/** Two-sided 5 % point of the normal. */
const CRITICAL = 1.959963985;

/**
 * Standard score of Mann and Whitney's U: how often a candidate lies above a baseline run, against half of all pairs,
 * with the variance corrected for ties and a half taken off for continuity. 0 where all values are equal.
 */
export function rankScore(baseline: readonly number[], candidate: readonly number[]): number {
  const [n, m] = [baseline.length, candidate.length];
  let above = 0;
  for (const c of candidate) for (const b of baseline) above += c > b ? 1 : c === b ? 0.5 : 0;
  const counts = new Map<number, number>();
  for (const value of [...baseline, ...candidate]) counts.set(value, (counts.get(value) ?? 0) + 1);
  const all = n + m;
  let ties = 0;
  for (const t of counts.values()) ties += t ** 3 - t;
  const variance = ((n * m) / 12) * (all + 1 - ties / (all * (all - 1)));
  const away = above - (n * m) / 2;
  return variance > 0 ? (Math.sign(away) * Math.max(0, Math.abs(away) - 0.5)) / Math.sqrt(variance) : 0;
}

/** google/benchmark's compare.py: two-sided U test at 5 %, nine repetitions on each side, the recommended number. */
export const mannWhitney: PeakRule = sampleRule(
  "Mann–Whitney 9 v 9, p < .05",
  9,
  9,
  (baseline, candidate) => rankScore(baseline, candidate) > CRITICAL,
);
