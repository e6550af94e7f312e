import { fitLine, studentQuantile, theilSen } from "../../stats/fit.ts";
import { median } from "../../stats/order-statistics.ts";
import { type Bins, mergeBins } from "./bins.ts";
import { detectable, SIGNIFICANCE } from "./detectable.ts";
import type { Drift, DriftInput } from "./drift.ts";
import { quantumNoise } from "./materiality.ts";

const MIN_CYCLES = 4;
/** With as many the ordinary way, parts of several cycles each, sees more. */
const MAX_CYCLES = 8;

/**
 * A series of a few large cycles (a short run whose every step fills and empties memory): one floor point per cycle. Too
 * few for a leak to be told from anything else, so growth is at most `rising`.
 * @param period bins per cycle, 1 for none
 * @returns null when the series is not made of such cycles
 */
export function classifyFewCycles(bins: Bins, period: number, input: DriftInput): Drift | null {
  if (period <= 1) return null;
  const cycles = mergeBins(bins, period);
  const n = cycles.count;
  if (n < MIN_CYCLES || n >= MAX_CYCLES) return null;
  // Each cycle falls back: a regular staircase repeats as well, but never does.
  const falls = median(Float64Array.from(cycles.low.subarray(1), (low, i) => cycles.high[i]! - low));
  if (falls <= input.change) return null;
  const fit = fitLine(cycles.x, cycles.low);
  const noise = quantumNoise(input.metric);
  const standardError = Math.sqrt((fit.sse / (n - 2) + noise * noise) / fit.sxx);
  const seen = cycles.x[n - 1]! - cycles.x[0]!;
  const net = fit.slope * seen;
  const critical = studentQuantile(SIGNIFICANCE, n - 2) * standardError;
  const half = studentQuantile(0.975, n - 2) * standardError;
  const slope = theilSen(cycles.x, cycles.low);
  const significant = fit.slope > critical;
  const observed = input.bins.x[input.bins.count - 1]! - input.bins.x[0]!;
  return {
    class:
      significant && net > input.growth
        ? "rising"
        : fit.slope < -critical && net < -input.change
          ? "shrink"
          : "sawtooth",
    slope,
    interval: [slope - half, slope + half],
    mde: detectable(standardError, n, observed, seen, input.growth),
    significant,
    story: null,
  };
}
