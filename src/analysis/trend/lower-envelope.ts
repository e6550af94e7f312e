import { assertNever } from "../../core/errors.ts";
import { normalMad } from "../../stats/mad.ts";
import { mean } from "../../stats/moments.ts";
import { medianInPlace, medianLow, select } from "../../stats/order-statistics.ts";
import type { Bins } from "./bins.ts";

/** Level of each part: its middle (robust), its mean (averages fast cycles out), or its lowest, below a cycle. */
export type EnvelopeKind = "middle" | "mean" | "low";

/** One point per part of a series, for fits. */
export interface LowerEnvelope {
  readonly kind: EnvelopeKind;
  readonly x: Float64Array;
  readonly y: Float64Array;
}

/** Divides a series into equal parts, one point each. */
export function partition(bins: Bins, kind: EnvelopeKind, parts: number): LowerEnvelope {
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

/** The lowest of a few values, or the lower decile of ten and more: one dip is not an envelope. */
function lowest(values: Float64Array): number {
  return select(values, 0, values.length, Math.floor(values.length / 10));
}

/** With fewer values a mean cannot be compared with its scatter. */
const MIN_MEAN_VALUES = 4;

/** The mean of noise around one level (more efficient). Else the low median: one side of a jump, no spikes. */
function centre(values: Float64Array): number {
  const middle = medianLow(values);
  if (values.length < MIN_MEAN_VALUES) return middle;
  const spread = normalMad(values);
  const average = mean(values);
  if (Math.abs(average - middle) > (1.5 * spread) / Math.sqrt(values.length)) return middle;
  return values.every((value) => Math.abs(value - middle) <= 4 * spread) ? average : middle;
}

function levelOf(bins: Bins, kind: EnvelopeKind, from: number, to: number): number {
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

/** Median absolute second difference, which neither a straight line nor a single jump changes. */
function roughness(y: Float64Array): number {
  if (y.length < 3) return 0;
  const second = new Float64Array(y.length - 2);
  for (let i = 1; i < y.length - 1; i++) second[i - 1] = Math.abs(y[i - 1]! - 2 * y[i]! + y[i + 1]!);
  return medianInPlace(second);
}

/** Another envelope must have this share of the roughness of the middle of twelve parts. On plain noise none has. */
const QUIETER = 0.5;
const FEWER_PARTS = 8;

interface EnvelopeChoice {
  readonly kind: EnvelopeKind;
  readonly parts: number;
}

/**
 * Chooses the level of a saw-tooth whose period the autocorrelation cannot determine (irregular, aliased, too few
 * teeth): the least rough of middle, mean and low, in fewer and longer parts where that helps. A leak does not
 * influence the choice, because roughness ignores straight lines and jumps.
 * @param noise roughness below which the middle is used, bytes
 */
export function chooseLowerEnvelope(bins: Bins, parts: number, noise: number): EnvelopeChoice {
  let best: EnvelopeChoice = { kind: "middle", parts };
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
    // Longer parts are less rough on any noise, and fewer parts test less well, so they need another such reduction.
    quietest *= QUIETER;
  }
  return best;
}
