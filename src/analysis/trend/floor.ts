import { assertNever } from "../../core/errors.ts";
import { lowerMedian, mean, medianInPlace, normalMad, select } from "../../stats/order-statistics.ts";
import type { Bins } from "./bins.ts";

/**
 * Which value of each part stands for the level: its middle (robust), its mean (averages fast cycles out), or its lowest
 * where something cycles on top.
 */
export type FloorKind = "middle" | "mean" | "low";

/** Points of the floor, for fits. */
export interface Floor {
  readonly kind: FloorKind;
  readonly x: Float64Array;
  readonly y: Float64Array;
}

/** Equal parts of a series, one point each. */
export function partition(bins: Bins, kind: FloorKind, parts: number): Floor {
  const x = new Float64Array(parts);
  const y = new Float64Array(parts);
  for (let k = 0; k < parts; k++) {
    const from = Math.floor((k * bins.count) / parts);
    const to = Math.floor(((k + 1) * bins.count) / parts);
    x[k] = bins.x[from]! + mean(bins.x.subarray(from, to).map((at) => at - bins.x[from]!));
    y[k] = levelOf(bins, kind, from, to);
  }
  return { kind, x, y };
}

/** The lowest of a few values, or the lower decile of ten and more: one dip is not a floor. */
function lowest(values: Float64Array): number {
  return select(values, 0, values.length, Math.floor(values.length / 10));
}

/** Fewer values than this have no shape to speak of. */
const SHAPED = 4;

/**
 * The mean where the values look like noise around one level, which is where it is the sharper of the two; else the lower
 * median, which stays on one side of a jump and ignores spikes.
 */
function centre(values: Float64Array): number {
  const middle = lowerMedian(values);
  if (values.length < SHAPED) return middle;
  const spread = normalMad(values);
  const average = mean(values);
  if (Math.abs(average - middle) > (1.5 * spread) / Math.sqrt(values.length)) return middle;
  return values.every((value) => Math.abs(value - middle) <= 4 * spread) ? average : middle;
}

function levelOf(bins: Bins, kind: FloorKind, from: number, to: number): number {
  switch (kind) {
    case "middle":
      return centre(bins.middle.subarray(from, to));
    case "mean":
      return mean(bins.middle, from, to);
    case "low":
      return lowest(bins.low.slice(from, to));
    default:
      return assertNever(kind);
  }
}

/** Roughness that no straight line or single jump can explain: median absolute second difference. */
export function roughness(y: Float64Array): number {
  if (y.length < 3) return 0;
  const second = new Float64Array(y.length - 2);
  for (let i = 1; i < y.length - 1; i++) second[i - 1] = Math.abs(y[i - 1]! - 2 * y[i]! + y[i + 1]!);
  return medianInPlace(second);
}

/** Another view must be this much quieter than the middle of twelve parts to be preferred: on plain noise none is. */
const QUIETER = 0.5;
const FEWER_PARTS = 8;

export interface FloorChoice {
  readonly kind: FloorKind;
  readonly parts: number;
}

/**
 * How to see the level through a saw-tooth whose period the autocorrelation cannot pin down (irregular, aliased, too few
 * teeth): the quietest of middle, mean and low, in fewer and longer parts where that helps. Roughness is what a straight
 * line or a jump does not explain, so a leak does not influence the choice.
 * @param noise smallest roughness worth a choice, bytes
 */
export function chooseFloor(bins: Bins, parts: number, noise: number): FloorChoice {
  let best: FloorChoice = { kind: "middle", parts };
  const middle = roughness(partition(bins, "middle", parts).y);
  if (middle <= noise) return best;
  let quietest = QUIETER * middle;
  for (const count of [parts, Math.min(parts, FEWER_PARTS)]) {
    for (const kind of ["low", "mean", "middle"] as const) {
      const rough = roughness(partition(bins, kind, count).y);
      if (rough >= quietest) continue;
      quietest = rough;
      best = { kind, parts: count };
    }
    // Longer parts are quieter on any noise, and fewer parts test less well: they have to earn it again.
    quietest *= QUIETER;
  }
  return best;
}
