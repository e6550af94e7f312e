import { changePoints } from "./change-points.ts";
import { meanOf } from "./peak-moments.ts";
import { type PeakRule, sampleRule } from "./peak-rule.ts";

/** Runs of the change that the history is followed by: with one alone there is nothing to split off. */
const AFTER = 3;

/**
 * Otava's change points over 50 accepted runs and three of the change. An alarm is a point among the last three after
 * which the level is higher; Otava itself looks at a history, not at one pull request.
 */
export const otavaWindow: PeakRule = sampleRule("Otava window 50, 3 runs after", 50, AFTER, (baseline, candidate) => {
  const series = [...baseline, ...candidate];
  const points = changePoints(series);
  return points.some(({ index }, k) => {
    const before = series.slice(points[k - 1]?.index ?? 0, index);
    const after = series.slice(index, points[k + 1]?.index ?? series.length);
    return index >= baseline.length && meanOf(after) > meanOf(before);
  });
});
