import { type Horizon, MIB } from "../../core/units.ts";
import { limitOf, METRIC, type Metric } from "../../telemetry/recording/metrics.ts";

/** What a material change is looked up by. */
export interface Counter {
  readonly metric: Metric;
  /** "host", "cuda:0", … */
  readonly device: string;
}

/**
 * A counter of live blocks that is exact and moves by what the program keeps alone: the C heap's and Python's own. Its
 * growth is material from {@link EXACT_FLOOR_BYTES} on. Below `floorBytes` it may still be a cache that fills
 * during the whole run, which no counter separates from a leak (`verdict/rules/class-rule.ts`).
 */
export const isExact = ({ metric, device }: Counter): boolean =>
  metric === "python" || (metric === "allocated" && device === "host");
const EXACT_FLOOR_BYTES = 3 * MIB;
const FLOOR_SHARE = 0.01;
/** With a stated production length, growth is material from the larger of 128 MiB and 1 % of the level at its end. */
const HORIZON_FLOOR_BYTES = 128 * MIB;

/** Minimum standard deviation of the noise, bytes: the rounding error of the metric's quantum. */
export function quantumNoise(metric: Metric): number {
  return METRIC[metric].quantumBytes / Math.sqrt(12);
}

/** The largest growth, bytes, that may be a cache which fills during the whole run. */
export const cacheLimit = (level: number, metric: Metric): number =>
  Math.max(METRIC[metric].floorBytes, FLOOR_SHARE * Math.abs(level));

/** Smallest material change at this level, bytes. */
export function materialChange(level: number, counter: Counter): number {
  const floor = isExact(counter) ? EXACT_FLOOR_BYTES : METRIC[counter.metric].floorBytes;
  return Math.max(floor, FLOOR_SHARE * Math.abs(level));
}

/** Horizon over observed span. Null without a horizon in the unit of the series. */
export function horizonFactor(
  horizon: Horizon | null,
  stepSpan: number | null,
  durationS: number | null,
): number | null {
  if (horizon === null) return null;
  const span = horizon.kind === "steps" ? stepSpan : durationS;
  const length = horizon.kind === "steps" ? horizon.steps : horizon.seconds;
  return span === null || !(span > 0) || !(length > 0) ? null : length / span;
}

/** Smallest material growth at the end of a stated production length, bytes. */
export const horizonFloor = (level: number, metric: Metric): number =>
  Math.max(limitOf(HORIZON_FLOOR_BYTES, metric), FLOOR_SHARE * Math.abs(level));

/** Smallest material growth over the observed span, bytes. A longer horizon requires its own floor at its end. */
export function materialGrowth(level: number, counter: Counter, factor: number | null): number {
  if (factor === null || factor <= 1) return materialChange(level, counter);
  return Math.max(horizonFloor(level, counter.metric) / factor, METRIC[counter.metric].minProjectedBytes);
}
