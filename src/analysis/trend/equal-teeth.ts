import { mean } from "../../stats/moments.ts";
import type { Cycle } from "./cycle.ts";

/** With fewer teeth, any times of their falls look regular. */
const MIN_TEETH = 5;
/** Maximum distance of a rise from the mean rise, and of a fall from the mean fall, as a share of a tooth's height. */
const MAX_DEVIATION = 0.1;
/** Growth that is certain, as a share of a tooth's height: by less, teeth of unequal heights differ as well. */
const MIN_GROWTH = 0.1;

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
  const limit = (Math.min(...differences) + Math.max(...differences)) / 2;
  const falls = differences.filter((difference) => difference < limit);
  const rises = differences.filter((difference) => !(difference < limit));
  const rate = mean(rises);
  const height = rate - mean(falls);
  if (falls.length < MIN_TEETH || rises.length <= falls.length || !(rate > 0)) return null;
  const isFar = (value: number) => Math.abs(value - (value < limit ? rate - height : rate)) > MAX_DEVIATION * height;
  if (differences.some(isFar)) return null;
  // Falls up to each point. The phase, i f minus this, is in a range of length one.
  let tooth = 0;
  const teeth = y.map((_, i) => (i > 0 && differences[i - 1]! < limit ? ++tooth : tooth));
  let [lowest, highest] = [0, 1];
  for (let i = 0; i < y.length; i++) {
    for (let j = i + 1; j < y.length; j++) {
      lowest = Math.max(lowest, (teeth[j]! - teeth[i]! - 1) / (j - i));
      highest = Math.min(highest, (teeth[j]! - teeth[i]! + 1) / (j - i));
    }
  }
  if (!(lowest < highest)) return null;
  const growthAt = (frequency: number): number => (rate - height * frequency) * (y.length - 1);
  const [least, most] = [growthAt(highest), growthAt(lowest)];
  const certain = least > MIN_GROWTH * height || most < -MIN_GROWTH * height;
  if (!certain && (least > 0 || most < 0 || Math.floor(1 / highest) + 1 < 1 / lowest)) return null;
  const frequency = certain ? (lowest + highest) / 2 : rate / height;
  const phases = teeth.map((falls, i) => i * frequency - falls);
  const lowestPhase = Math.min(...phases);
  const lowerEnvelope = y.map((value, i) => value - height * (phases[i]! - lowestPhase));
  return { period: 1 / frequency, lowerEnvelope, swing: height, periodError: (most - least) / 2, certain };
}
