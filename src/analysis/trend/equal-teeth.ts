import { mean } from "../../stats/moments.ts";
import type { Cycle } from "./cycle.ts";

/** With fewer teeth, any times of their falls look regular. */
const MIN_TEETH = 5;
/** Maximum distance of a rise from the mean rise, and of a fall from the mean fall, as a share of a tooth's height. */
const MAX_DEVIATION = 0.1;
/** Growth that is certain, as a share of a tooth's height: by less, teeth of unequal heights differ as well. */
const MIN_GROWTH = 0.1;
/** Of a period at the end of the possible range, which is excluded. */
const ROUNDING = 1e-6;

/**
 * A saw-tooth that fills at one rate and falls by one amount at one period. Its rises and falls give the rate *s* and
 * the height *A* of a tooth without knowledge of the period, and the points at which it falls limit the frequency *f*;
 * so the growth per point is s - A f, for every *f* with which the teeth fall at just these points. Folding
 * (`findCycle`) cannot separate an error of the period from growth where it samples few phases. Where a period without
 * growth is among the possible ones, that is taken.
 * @returns null when the series is not made of such teeth, or their period may be a whole number of points: then points
 *   of equal phase show the growth
 */
export function equalTeeth(y: Float64Array): Cycle | null {
  const differences = Float64Array.from({ length: y.length - 1 }, (_, i) => y[i + 1]! - y[i]!);
  const limit = limitOfFalls(differences);
  if (limit === null) return null;
  const isFall = (difference: number): boolean => difference < limit;
  const falls = differences.filter(isFall);
  const rises = differences.filter((difference) => !isFall(difference));
  const rate = mean(rises);
  const height = rate - mean(falls);
  if (falls.length < MIN_TEETH || rises.length <= falls.length || !(rate > 0)) return null;
  if (Math.max(distance(rises), distance(falls)) > MAX_DEVIATION * height) return null;
  const range = frequencies(y.length, differences, isFall);
  if (range === null) return null;
  const growthAt = (frequency: number): number => (rate - height * frequency) * (y.length - 1);
  const least = growthAt(range.most);
  const most = growthAt(range.least);
  const certain = least > MIN_GROWTH * height || most < -MIN_GROWTH * height;
  const wholePeriod = Math.floor(1 / range.most + ROUNDING) + 1;
  if (!certain && (least > 0 || most < 0 || wholePeriod < 1 / range.least - ROUNDING)) return null;
  const frequency = certain ? (range.least + range.most) / 2 : rate / height;
  let tooth = 0;
  const phases = y.map((_, i) => {
    if (i > 0 && isFall(differences[i - 1]!)) tooth += 1;
    return i * frequency - tooth;
  });
  const lowest = Math.min(...phases);
  const lowerEnvelope = y.map((value, i) => value - height * (phases[i]! - lowest));
  return { period: 1 / frequency, lowerEnvelope, swing: height, doubt: (most - least) / 2, certain };
}

/** The middle of the widest gap between two differences: falls lie below it. Null when all are equal. */
function limitOfFalls(differences: Float64Array): number | null {
  const sorted = Float64Array.from(differences).sort();
  let widest = 0;
  let limit: number | null = null;
  for (let i = 1; i < sorted.length; i++) {
    const gap = sorted[i]! - sorted[i - 1]!;
    if (gap <= widest) continue;
    widest = gap;
    limit = sorted[i]! - gap / 2;
  }
  return limit;
}

function distance(values: Float64Array): number {
  const centre = mean(values);
  return values.reduce((most, value) => Math.max(most, Math.abs(value - centre)), 0);
}

/**
 * The frequencies f, falls per point, for which the whole part of i f + phase grows by one at each fall and nowhere
 * else; null when there are none.
 */
function frequencies(
  n: number,
  differences: Float64Array,
  isFall: (difference: number) => boolean,
): { readonly least: number; readonly most: number } | null {
  // The first point after each fall; its position in the list, from 1, is the number of falls up to there.
  const falls = Array.from(differences.keys())
    .filter((i) => isFall(differences[i]!))
    .map((i) => i + 1);
  let [least, most] = [0, 1];
  for (const [k, first] of falls.entries()) {
    // The first tooth began at the first point or before, and the last one has not fallen at the last point.
    least = Math.max(least, k / first);
    if (first > 1) most = Math.min(most, (k + 1) / (first - 1));
    if (first < n - 1) most = Math.min(most, (falls.length - k) / (n - 1 - first));
    for (let l = k + 1; l < falls.length; l++) {
      const points = falls[l]! - first;
      least = Math.max(least, (l - k) / (points + 1));
      if (points > 1) most = Math.min(most, (l - k) / (points - 1));
    }
  }
  return least < most ? { least, most } : null;
}
