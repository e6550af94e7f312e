import { median } from "../../../src/stats/order-statistics.ts";
import type { PeakRule } from "./peak-rule.ts";

/** Scale of a metric for these rules, bytes. */
export interface PeakScale {
  /** Smallest absolute change that counts. */
  readonly floor: number;
  /** Smallest step of the counter. */
  readonly quantum: number;
}

/**
 * Median plus the largest of the floor, 0.5 % and 1.5 spreads (normal-scaled MAD, at least the quantum's rounding
 * error).
 */
function threshold(baseline: readonly number[], { floor, quantum }: PeakScale): number {
  const centre = median(baseline);
  const mad = 1.4826 * median(baseline.map((value) => Math.abs(value - centre)));
  return centre + Math.max(floor, 0.005 * centre, 1.5 * Math.max(quantum / Math.sqrt(12), mad));
}

/** Runs above the limit are repeated until one is within it (pass) or `wanted` in a row were above. */
function repeated(run: () => number, limit: number, wanted: number): { alarm: boolean; runs: number } {
  for (let runs = 1; runs <= wanted; runs += 1) if (run() <= limit) return { alarm: false, runs };
  return { alarm: true, runs: wanted };
}

/** The same limit, always three in a row. */
export const threeOfThree = (scale: PeakScale): PeakRule => ({
  name: "fixed 3 of 3",
  history: 10,
  judge: ({ baseline, run }) => repeated(run, threshold(baseline, scale), 3),
});

/**
 * The first version of adaptive confirmation: as many runs (2 to 6) as bring the estimated false alarm rate,
 * from the share of baseline runs above the limit, below 0.1 %. No base re-run.
 */
export const adaptive = (scale: PeakScale): PeakRule => ({
  name: "adaptive k = 1.5, r = 0.5 %",
  history: 10,
  judge: ({ baseline, run }) => {
    const limit = threshold(baseline, scale);
    const rate = (baseline.filter((value) => value > limit).length + 1) / (baseline.length + 2);
    return repeated(run, limit, Math.min(6, Math.max(2, Math.ceil(Math.log(0.001) / Math.log(rate)))));
  },
});

/**
 * Adaptive confirmation, then the base three times in the same session: first and median run of the change must lie
 * above the base's median, its lowest above the base's lowest, by the margin these runs give.
 */
export const adaptiveDuet = (scale: PeakScale): PeakRule => ({
  name: "adaptive, then base re-run",
  history: 10,
  judge: ({ baseline, run, base }) => {
    const seen: number[] = [];
    const kept = () => {
      const value = run();
      seen.push(value);
      return value;
    };
    const { alarm, runs } = adaptive(scale).judge({ baseline, run: kept, base });
    if (!alarm) return { alarm, runs };
    const here = [base(), base(), base()];
    const margin = threshold(here, scale) - median(here);
    const above =
      Math.min(seen[0] ?? Number.NaN, median(seen)) > median(here) + margin &&
      Math.min(...seen) > Math.min(...here) + margin;
    return { alarm: above, runs: runs + here.length };
  },
});

/** max of the last five accepted runs, 2 % and the floor above; of three runs two must be beyond. */
export const maxOfFive = ({ floor }: PeakScale): PeakRule => ({
  name: `max of 5 + 2 % + floor, 2 of 3`,
  history: 5,
  judge: ({ baseline, run }) => {
    const limit = Math.max(...baseline.slice(-5)) * 1.02 + floor;
    if (run() <= limit) return { alarm: false, runs: 1 };
    return { alarm: [run(), run()].some((value) => value > limit), runs: 3 };
  },
});
