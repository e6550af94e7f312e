import { fitLine } from "../../stats/least-squares.ts";
import { median } from "../../stats/order-statistics.ts";
import { studentQuantile } from "../../stats/student-t.ts";
import { theilSen } from "../../stats/theil-sen.ts";
import { type Bins, mergeBins } from "./bins.ts";
import { detectable, POWER } from "./detectable.ts";
import { type Drift, type DriftInput, observedSpan } from "./drift.ts";
import { quantumNoise } from "./materiality.ts";

/** One-sided level of the trend test. */
const SIGNIFICANCE = 0.99;
const MIN_CYCLES = 4;
/** From this number of cycles on, parts of several cycles each detect smaller growth. */
export const MAX_CYCLES = 8;

/**
 * A series of a few large cycles (a short run whose every step fills and empties memory): one point of the lower
 * envelope per cycle. These are too few to distinguish a leak from anything else, so growth is at most `rising`.
 * @param period bins per cycle, 1 for none
 * @returns null when the series is not made of such cycles
 */
export function classifyFewCycles(bins: Bins, period: number, input: DriftInput): Drift | null {
  if (period <= 1) return null;
  const cycles = mergeBins(bins, period);
  const n = cycles.count;
  if (n < MIN_CYCLES || n >= MAX_CYCLES) return null;
  // A regular staircase repeats as well, but does not fall back.
  const falls = median(Float64Array.from(cycles.low.subarray(1), (low, i) => cycles.high[i]! - low));
  if (falls <= input.change) return null;
  const fit = fitLine(cycles.x, cycles.low);
  const noise = quantumNoise(input.metric);
  const standardError = Math.sqrt((fit.sse / (n - 2) + noise * noise) / fit.sxx);
  const seen = observedSpan(cycles);
  const net = fit.slope * seen;
  const critical = studentQuantile(SIGNIFICANCE, n - 2) * standardError;
  const half = studentQuantile(0.975, n - 2) * standardError;
  const slope = theilSen(cycles.x, cycles.low);
  const significant = fit.slope > critical;
  const observed = observedSpan(input.bins);
  return {
    class:
      significant && net > input.growth
        ? "rising"
        : fit.slope < -critical && net < -input.change
          ? "shrink"
          : "sawtooth",
    slope,
    growth: slope * observedSpan(bins),
    interval: [slope - half, slope + half],
    mde: detectable({
      critical: critical * seen,
      margin: studentQuantile(POWER, n - 2) * standardError * seen,
      evidenceFactor: 1,
      material: input.growth,
      unseen: seen > 0 ? observed / seen : 1,
    }),
    significant,
    slowdown: null,
  };
}
