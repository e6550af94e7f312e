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
  const noise = kind === "middle" ? neighbourNoise(bins) : 0;
  for (let k = 0; k < parts; k++) {
    const from = Math.floor((k * bins.count) / parts);
    const to = Math.floor(((k + 1) * bins.count) / parts);
    x[k] = bins.x[from]! + mean(bins.x.subarray(from, to).map((at) => at - bins.x[from]!));
    y[k] = levelOf(bins, kind, from, to, noise);
  }
  return { kind, x, y };
}

/** The lowest of a few values, or the lower decile of ten and more: one dip is not an envelope. */
function lowest(values: Float64Array): number {
  return select(values, 0, values.length, Math.floor(values.length / 10));
}

/** Distance from the middle, in standard deviations, from which a value is not noise around one level. */
const MAX_DEVIATION = 4;
/** With fewer values, their own scatter is unknown. */
const MIN_SCATTER_VALUES = 4;

/** Standard deviation of the noise between neighbours, which neither a trend nor a few jumps change. */
function neighbourNoise({ middle, count }: Bins): number {
  if (count < 3) return 0;
  return normalMad(Float64Array.from({ length: count - 1 }, (_, i) => middle[i + 1]! - middle[i]!)) / Math.SQRT2;
}

/** The mean of noise around one level (more efficient). Else the low median: one side of a jump, no spikes. */
function centre(values: Float64Array, noise: number): number {
  const middle = medianLow(values);
  const own = values.length < MIN_SCATTER_VALUES ? 0 : normalMad(values);
  const most = MAX_DEVIATION * Math.max(noise, own);
  return values.every((value) => Math.abs(value - middle) <= most) ? mean(values) : middle;
}

function levelOf(bins: Bins, kind: EnvelopeKind, from: number, to: number, noise: number): number {
  switch (kind) {
    case "middle":
      return centre(bins.middle.subarray(from, to), noise);
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

/**
 * Roughness of a level in parts: the median over divisions into this number of parts and a few more, because the
 * roughness of a dozen points is little more than chance.
 */
const DIVISIONS = 5;
function roughnessOf(bins: Bins, kind: EnvelopeKind, parts: number): number {
  const most = Math.min(DIVISIONS, bins.count - parts + 1);
  return medianInPlace(Float64Array.from({ length: most }, (_, k) => roughness(partition(bins, kind, parts + k).y)));
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
  const middle = roughnessOf(bins, "middle", parts);
  if (middle <= noise) return best;
  let quietest = QUIETER * middle;
  for (const count of [parts, Math.min(parts, FEWER_PARTS)]) {
    for (const kind of ["low", "mean", "middle"] as const) {
      const rough = roughnessOf(bins, kind, count);
      if (rough >= quietest) continue;
      quietest = rough;
      best = { kind, parts: count };
    }
    // Longer parts are less rough on any noise, and fewer parts test less well, so they need another such reduction.
    quietest *= QUIETER;
  }
  return best;
}
