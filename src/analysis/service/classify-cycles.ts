import { mean, standardDeviation } from "../../stats/moments.ts";
import { studentQuantile } from "../../stats/student-t.ts";
import { MAX_CYCLES } from "../../telemetry/recording/service.ts";
import type { DriftClass } from "../series/document.ts";

/** What equal cycles of load leave, each compared with the one before it. Sizes in bytes, or of what is counted. */
export interface CycleTrend {
  readonly class: Extract<DriftClass, "leak" | "rising" | "plateau" | "flat" | "shrink" | "insufficient">;
  /** First rest of the judged cycles. */
  readonly from: number;
  /** What a judged cycle leaves. */
  readonly perCycle: number;
  /** Of it, 95 %. */
  readonly interval: readonly [number, number];
  /** Smallest growth over the judged cycles that is called a leak nine times in ten. */
  readonly mde: number;
  /** Whether `perCycle` differs from zero at the 1 % level, one-sided. */
  readonly significant: boolean;
}

/** Differences that a class needs, behind the first ones, in which pools and caches fill. */
const MIN_JUDGED = 4;
const FIRST_SHARE = 1 / 3;
/** Of a leak, one-sided. A sequence looks at its cycles up to 17 times: 0.05 % in all (`bench/services`). */
const LEAK_LEVEL = 0.99993;
const RISING_LEVEL = 0.95;
/**
 * Growth that slows down to less than this share, from the first third of the judged cycles to the last, may end. It
 * has not, where the last third is above that by its standard error: errors of levels cancel within a third.
 */
const MIN_LASTING = 0.7;
/** Readings of processes are multiples of pages, of several mappings each. */
const MIN_DEVIATION_BYTES = 16 * 1024;
/** A count is exact, but may be read between the two of a pair that belongs together. */
const MIN_DEVIATION_COUNT = 0.5;

/**
 * The trend of levels at rest. What a cycle leaves is tested by Student's t test on the differences of neighbouring
 * levels: errors of levels cancel in their sum, so that the test errs towards "no leak".
 * @param levels what was held after the warm-up, and after each cycle  @param change smallest material change
 * @param isCount the levels are numbers of things, not bytes
 */
export function classifyCycles(levels: readonly number[], change: number, isCount = false): CycleTrend {
  const left = levels.slice(1).map((level, i) => level - (levels[i] ?? level));
  const from = Math.floor(FIRST_SHARE * left.length);
  const judged = left.slice(from);
  const n = judged.length;
  const none = { from, perCycle: 0, interval: [0, 0], mde: 0, significant: false } as const;
  if (n < MIN_JUDGED) return { class: "insufficient", ...none };
  const perCycle = mean(judged);
  const spread = Math.max(isCount ? MIN_DEVIATION_COUNT : MIN_DEVIATION_BYTES, standardDeviation(judged));
  const error = spread / Math.sqrt(n);
  const quantile = (level: number): number => studentQuantile(level, n - 1);
  const half = quantile(0.975) * error;
  const third = Math.max(1, Math.floor(n / 3));
  const slowed = MIN_LASTING * mean(judged, 0, third) - mean(judged, n - third);
  const lasts = -slowed >= (spread * Math.hypot(1, MIN_LASTING)) / third;
  const growth = n * perCycle;
  const total = (levels.at(-1) ?? 0) - (levels[0] ?? 0);
  const label = (): CycleTrend["class"] => {
    if (growth > change && perCycle > quantile(RISING_LEVEL) * error)
      return lasts && perCycle > quantile(LEAK_LEVEL) * error ? "leak" : "rising";
    if (total > change) return "plateau";
    return total < -change ? "shrink" : "flat";
  };
  return {
    class: label(),
    from,
    perCycle,
    interval: [perCycle - half, perCycle + half],
    mde: Math.max(change, n * error * (quantile(LEAK_LEVEL) + quantile(0.9))),
    significant: perCycle > quantile(0.99) * error,
  };
}

/** Cycles before the first decision, and those after which only growth that is not yet a leak asks for more. */
const MIN_CYCLES = 8;
const USUAL_CYCLES = 12;

/** Whether further cycles would change nothing: a leak, or no growth that could become material. */
export function cyclesDecide(levels: readonly number[], change: number): boolean {
  if (levels.length <= MIN_CYCLES) return false;
  const trend = classifyCycles(levels, change);
  if (trend.class === "leak") return true;
  if (trend.class === "rising") return levels.length > MAX_CYCLES;
  // As if the usual number of cycles left the most that the interval allows.
  return levels.length > USUAL_CYCLES || USUAL_CYCLES * trend.interval[1] < change;
}
